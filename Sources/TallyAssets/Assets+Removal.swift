import Foundation
import GRDB
import TallyCRDT
import TallySchema
import TallyStore

/// The files of content that was removed for good: a purge, here or on another device, takes them along.
extension Assets {
  /// Lets the stores of this process remove such files at once. Without it they wait for a process that does.
  static let removesFiles: Void = RemovedFiles.removal.withLock { $0 = { try $0.assets.remove($1) } }

  /// Goes on with a removal that was interrupted: a file may have been in use, or the process was killed. Also notes
  /// which files wait for a row no more, since a session or pass follows that may give their names away. Costs one
  /// query each if there is nothing to do. What goes wrong is logged, and done later. Not within a transaction.
  package func finishRemovals() {
    store.finishRemovalsIfPossible()
    noteNames()
  }

  /// Notes which files wait for a row no more. What goes wrong is logged: the files then go sooner than they should if
  /// their rows go before the next note. Costs one query if none waits.
  package func noteNames() {
    guard store.file != nil, !store.options.isReadOnly else { return }
    do {
      guard try folder.exists, try !places().waiting().isEmpty else { return }
      try places().noteNamed(namedNow())
    } catch {
      store.options.logger.warning("files may count as waiting for a row", metadata: ["error": "\(error)"])
    }
  }

  /// Removes those of some files that nothing names any more. `files` has the time of the last write that named each.
  ///
  /// A file that was added after that write may be for a row that is still to be written. It stays for a day at least,
  /// like any other that was added, and is then up to `collect`.
  /// - Returns: those that it must see to later: all while the store is damaged, while the disk is away to which the
  ///   folder is a link, or while another program has just written what is not captured yet; and those that a row shows
  ///   whose content was removed and that SQLite does not let change.
  /// - Throws: the first error, after all files that it does not concern are gone.
  @discardableResult
  func remove(_ files: [AssetName: HybridTime]) throws -> [AssetName: HybridTime] {
    let folder = try folder
    guard try store.doubt()?.level != .damaged else { return files }
    guard folder.exists else { return folder.isAbsent ? [:] : files }
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
    var held = Set<String>()
    if !here.isEmpty || !leftovers.isEmpty {
      let use = try use()
      guard !use.isPending else { return files }
      for file in leftovers where !use.names(AssetFolder.hash(ofLeftover: file)) {
        attempt(otherwise: ()) { _ = try folder.remove(file) }
      }
      let free = attempt(otherwise: []) { try awaitingNoRow(here, files) }
      // A row has named them, also if it is gone with the next purge only.
      let kept = free.filter { use.names($0.hash) }
      attempt(otherwise: ()) {
        try places().note(named: kept.compactMap { file in file.name.map { ($0, file.modified) } })
      }
      if !kept.isEmpty { held = try shownThoughRemoved() }
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
      guard isSure else { return files }
    }
    if let failure { throw failure }
    return files.filter { held.contains($0.key.hash) }
  }

  /// The hashes of the files that rows show although their content was removed: a trigger, check or index of the app's
  /// does not let them change. They go with a later commit, and nothing else may ever name the files again.
  private func shownThoughRemoved() throws -> Set<String> {
    let rows = try store.status().setAside.filter(\.showsRemoved).compactMap { try? AnyRecordName($0.row) }
    guard !rows.isEmpty else { return [] }
    let schema = try store.schema
    return try store.read { db in
      var hashes = Set<String>()
      for row in rows {
        for field in schema[row.type]?.fields ?? [] where field.kind == .asset {
          let text = try String.fetchOne(
            db, sql: "SELECT \"\(field.name)\" FROM main.\"\(row.type)\" WHERE id = ?", arguments: [row.text])
          if let name = text.flatMap({ AssetName($0) }) { hashes.insert(name.hash) }
        }
      }
      return hashes
    }
  }

  /// The transactions that have removed content so far, for `takeBack`.
  package func removals() throws -> StateVector { try store.removals().all }

  /// Whether a file is still named after content was removed, if any was since `removals`. A file that is under way
  /// may be of a record that is purged meanwhile.
  package func isNamed(_ name: AssetName, since removals: StateVector) throws -> Bool {
    guard try self.removals() != removals else { return true }
    return try use().names(name.hash)
  }

  /// Removes files that have just come and been noted, if content was removed since `removals` was read and nothing
  /// names them any more. A removal that begins later finds them where they are.
  /// - Returns: those that are gone.
  package func takeBack(_ names: [AssetName], since removals: StateVector) throws -> Set<AssetName> {
    guard try !names.isEmpty && self.removals() != removals else { return [] }
    // What the app has added since is newer than the note of its arrival, and waits for its row.
    try remove(Dictionary(names.map { ($0, HybridTime(milliseconds: 0)) }) { one, _ in one })
    let folder = try folder
    return Set(names.filter { !folder.has($0) })
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
