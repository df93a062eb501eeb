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
  /// - Returns: whether it has seen to all of them, which it cannot while the store is damaged.
  func remove(_ files: [AssetName: HybridTime]) throws -> Bool {
    let folder = try folder
    guard try store.doubt()?.level != .damaged else { return false }
    guard folder.exists else { return true }
    let times = Dictionary(files.map { ($0.hash, $1) }, uniquingKeysWith: max)
    let hashes = Set(times.keys)
    let here = try folder.files(of: hashes)
    let leftovers = try folder.leftovers().filter { hashes.contains(AssetFolder.hash(ofLeftover: $0)) }
    guard !here.isEmpty || !leftovers.isEmpty else { return true }
    let use = try use()
    let places = try places()
    let named = try places.named()
    let old = store.now.addingTimeInterval(-Self.day)
    let free = here.filter { file in
      let written = times[file.hash].map { Double($0.milliseconds) } ?? 0
      return (file.modified.timeIntervalSince1970 * 1000).rounded(.down) <= written || file.modified < old
        || file.name.map { named[$0] == AssetPlaces.microseconds(file.modified) } ?? false
    }
    // A row has named them, also if it is gone with the next purge only.
    try places.note(named: free.compactMap { file in file.name.map { ($0, file.modified) } })
    for file in leftovers where !use.names(AssetFolder.hash(ofLeftover: file)) { _ = try folder.remove(file) }
    guard free.contains(where: { !use.names($0.hash) }) else { return true }
    try folder.locked {
      // A row may have come to name a file since.
      let use = try namedNow()
      for file in free where !use.names(file.hash) { _ = try folder.removeLocked(file) }
    }
    return true
  }
}
