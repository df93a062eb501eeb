import Foundation
import TallyCRDT
import TallySchema
import TallyStore

/// The files of content that was removed for good: a purge, here or on another device, takes them along.
extension Assets {
  /// Lets the stores of this process remove such files at once. Without it they wait for a process that does.
  static let removesFiles: Void = RemovedFiles.removal.withLock { $0 = { try $0.assets.remove($1) } }

  /// Goes on with a removal that was interrupted: a file may have been in use, or the process was killed. Costs one
  /// query if there is none. What goes wrong is logged, and done later. Not within a transaction.
  package func finishRemovals() { store.finishRemovalsIfPossible() }

  /// Removes those of some files that nothing names any more. `files` has the time of the last write that named each.
  ///
  /// A file that was added after that write may be for a row that is still to be written. It stays for a day at least,
  /// like any other that was added, and is then up to `collect`.
  /// - Returns: whether it has seen to all of them, which it cannot while the store is damaged, or while another
  ///   program has just written what is not captured yet.
  /// - Throws: the first error, after all files that it does not concern are gone.
  func remove(_ files: [AssetName: HybridTime]) throws -> Bool {
    let folder = try folder
    guard try store.doubt()?.level != .damaged else { return false }
    guard folder.exists else { return true }
    var failure: (any Error)?
    func attempt<T>(otherwise value: T, _ body: () throws -> T) -> T {
      do { return try body() } catch {
        failure = failure ?? error
        return value
      }
    }
    let hashes = Set(files.keys.map(\.hash))
    let here = attempt(otherwise: []) { try folder.files(of: hashes) }
    let leftovers = attempt(otherwise: []) {
      try folder.leftovers().filter { hashes.contains(AssetFolder.hash(ofLeftover: $0)) }
    }
    if !here.isEmpty || !leftovers.isEmpty {
      let use = try use()
      guard !use.isPending else { return false }
      for file in leftovers where !use.names(AssetFolder.hash(ofLeftover: file)) {
        attempt(otherwise: ()) { _ = try folder.remove(file) }
      }
      let free = attempt(otherwise: []) { try awaitingNoRow(here, files) }
      // A row has named them, also if it is gone with the next purge only.
      let kept = free.filter { use.names($0.hash) }.compactMap { file in file.name.map { ($0, file.modified) } }
      attempt(otherwise: ()) { try places().note(named: kept) }
      let unnamed = free.filter { !use.names($0.hash) }
      let isSure =
        try unnamed.isEmpty
        || folder.locked {
          // A row may have come to name a file since.
          let use = try namedNow()
          guard !use.isPending else { return false }
          for file in unnamed where !use.names(file.hash) {
            attempt(otherwise: ()) { _ = try folder.removeLocked(file) }
          }
          return true
        }
      guard isSure else { return false }
    }
    if let failure { throw failure }
    return true
  }

  /// Those of the files that wait for no row: they have not been added since the last write that named them, or have
  /// waited for a day, or a row has named them since.
  private func awaitingNoRow(_ here: [AssetFolder.File], _ files: [AssetName: HybridTime]) throws -> [AssetFolder.File]
  {
    // One that has lost its end has another size than its name.
    let times = Dictionary(files.map { ("\($0.hash).\($0.type)", $1) }, uniquingKeysWith: max)
    let named = try places().named()
    let old = store.now.addingTimeInterval(-Self.day)
    return here.filter { file in
      let written = times["\(file.hash).\(file.type)"].map { Double($0.milliseconds) } ?? 0
      return (file.modified.timeIntervalSince1970 * 1000).rounded(.down) <= written || file.modified < old
        || file.name.map { named[$0] == AssetPlaces.microseconds(file.modified) } ?? false
    }
  }
}
