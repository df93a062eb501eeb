import Foundation
import TallyCRDT
import TallySchema
import TallyStore
import TallyWire

#if PlantedFaults
  import TallyFaults
#endif

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// One file, as a list shows it.
public struct AssetListing: Sendable, Hashable {
  /// The name by which records refer to the file.
  public var name: AssetName
  /// Whether the file is on this device.
  public var isHere: Bool
  /// Whether a record that the app sees names it.
  public var isShown: Bool
  /// Whether another place has said, within the last seven days, to have it.
  public var isElsewhere: Bool
}

/// The result of a check of all files.
public struct AssetReport: Sendable, Hashable {
  /// The number of files that were read and are what their names say, and of their bytes.
  public var sound = 0, byteCount = 0
  /// The files that are not what their names say. They were put into the folder `damaged`, and count as missing.
  public var damaged: [AssetName] = []
  /// The files that cannot be read, and were left where they are.
  public var unreadable: [AssetName] = []
  /// The names in records of files that are not on this device. That is not an error: they may come when the app asks
  /// for them.
  public var missing: [AssetName] = []
}

extension Assets {
  static let day: TimeInterval = 86_400
  /// The days for which a file that was added here is not evicted.
  static let ownDays = 30

  /// Lists the files that are here and those that records name, in the order of their names.
  ///
  /// Cost: the folder, the columns of assets and all hidden records; no file is opened.
  /// - Throws: `AssetError`; the store's errors.
  public func list() throws -> [AssetListing] {
    let (use, reached) = (try use(), try reachedAnywhere())
    let here = Set(try folder.files().filter { !use.knowsOtherSize(of: $0) }.compactMap(\.name))
    return here.union(use.shown).sorted { $0.text < $1.text }.map { name in
      AssetListing(
        name: name, isHere: here.contains(name), isShown: use.shown.contains(name),
        isElsewhere: reached.contains(name))
    }
  }

  private func reachedAnywhere() throws -> Set<AssetName> {
    try folder.exists && !store.options.isReadOnly ? places().reached(since: store.now) : []
  }

  /// Reads all files and checks that they are what their names say.
  ///
  /// ```swift
  /// let report = try store.assets.verify()
  /// print(report.damaged, report.missing)
  /// ```
  ///
  /// A damaged file is put aside and counts as missing from then on, so that it comes again. Nothing is deleted.
  /// - Throws: `AssetError`; the store's errors. Files that were put aside before stay so.
  public func verify() throws -> AssetReport {
    let folder = try folder
    var (report, damaged) = (AssetReport(), [AssetFolder.File]())
    for file in try folder.files() {
      guard let name = file.name else { continue }
      let hash: [UInt8]
      do {
        hash = try AssetSource(file.path, followsLinks: false).hash()
      } catch let error as AssetError where error.code != .missing {
        report.unreadable.append(name)
        continue
      } catch is AssetError {
        continue
      }
      if Hexadecimal.text(hash) == file.hash {
        report.sound += 1
        report.byteCount += file.byteCount
      } else {
        if try folder.putAside(file) { damaged.append(file) }
      }
    }
    let use = try use()
    // A file that has lost its end has another size than the name that rows have.
    let shown = Dictionary(use.shown.map { ("\($0.hash).\($0.type)", $0) }) { one, _ in one }
    report.damaged = damaged.compactMap { shown["\($0.hash).\($0.type)"] ?? $0.name }
    report.missing = use.shown.filter { !folder.has($0) }.sorted { $0.text < $1.text }
    return report
  }

  /// Removes files that nothing has named for a day: no record that is shown or can be restored, no entry of the
  /// conflict journal. A file that has been named and that no mailbox is known to have stays for the restore window:
  /// others may have its name.
  ///
  /// An engine does so once a day, and what counts are the days on which it has found the file unnamed. The files of
  /// purged records go with the purge. With `isUrgent` all files go at once that nothing names, also those that were
  /// found damaged, and those that the app has added for rows that it has not written yet. A copy in a mailbox's folder
  /// goes after the restore window, one in a log stays.
  ///
  /// Cost: the folder, the columns of assets, all hidden records and the conflict journal.
  /// - Parameter isUrgent: whether files go that were named until now.
  /// - Returns: the number of files that were removed.
  /// - Throws: `AssetError`, of code `damaged` while the store is, and of code `busy` if, with `isUrgent`, another
  ///   program writes just then; the store's errors. Files that were removed before stay so.
  @discardableResult
  public func collect(isUrgent: Bool = false) throws -> Int {
    let (folder, now) = (try folder, store.now)
    guard folder.exists, !store.options.isReadOnly else { return 0 }
    let use = try use()
    let stale = isUrgent ? Date.distantFuture : now.addingTimeInterval(-7 * Self.day)
    // A file that is being added just now has a name of its own.
    let abandoned = now.addingTimeInterval(-60)
    for leftover in try folder.leftovers() {
      _ = try folder.remove(leftover, ifOlderThan: leftover.hasSuffix(".tmp") ? min(stale, abandoned) : stale)
    }
    let places = try places()
    try places.noteNamed(use)
    let files = try folder.files().filter { isUrgent || $0.modified < now.addingTimeInterval(-Self.day) }
    let unnamed = files.filter { !use.names($0.hash) }
    let days = try places.note(unnamed: Set(unnamed.compactMap(\.name)), at: AssetPlaces.here, now)
    if isUrgent {
      // A row may have come to name a file since.
      return try folder.locked {
        let use = try namedNow()
        guard !use.isPending else { throw AssetError(.busy, "another program is writing to the store") }
        return try unnamed.count { try !use.names($0.hash) && folder.removeLocked($0) }
      }
    }
    // Others may have the name of a file that no place is known to have, unless it has only ever waited for a row.
    let soon = try places.reached(since: now).union(places.waiting())
    let window = max(1, store.options.compaction.restoreWindow.days)
    return try unnamed.count { file in
      guard let name = file.name else { return false }
      guard days[name] ?? 0 >= (soon.contains(name) ? 1 : window) else { return false }
      return try folder.remove(file)
    }
  }

  /// Removes files from this device that another place has, until the others take at most so many bytes. Records keep
  /// their names, and the files come again when the app asks for them.
  ///
  /// ```swift
  /// try store.assets.evict(keeping: 500_000_000)
  /// ```
  ///
  /// It removes only what a mailbox has said to have within the last seven days, and neither what was added on this
  /// device within the last thirty, nor what fields show that are `eager`. What has been here for the longest goes
  /// first.
  /// - Returns: the names of the files that were removed.
  /// - Throws: `AssetError`; the store's errors. Files that were removed before stay so.
  @discardableResult
  public func evict(keeping byteCount: Int = 0) throws -> [AssetName] {
    let folder = try folder
    guard folder.exists, !store.options.isReadOnly else { return [] }
    let (places, now) = (try places(), store.now)
    let (reached, arrived, eager) = (try places.reached(since: now), try places.arrived(), try use().eager)
    let own = now.addingTimeInterval(-Double(Self.ownDays) * Self.day)
    let files = try folder.files().sorted { ($0.modified, $0.hash) < ($1.modified, $1.hash) }
    var rest = files.reduce(0) { $0 + $1.byteCount }
    var removed: [AssetName] = []
    for file in files where rest > byteCount {
      #if PlantedFaults
        let isForced = store.options.planted.contains(.onlyCopyEvicted)
      #else
        let isForced = false
      #endif
      let isElsewhere =
        file.name.map { reached.contains($0) && (arrived.contains($0) || file.modified < own) } ?? false
      guard let name = file.name, isElsewhere || isForced, !eager.contains(name) else { continue }
      // It may have been added again since.
      guard try folder.remove(file, if: { try isForced || file.modified < own || places.arrived().contains(name) })
      else { continue }
      rest -= file.byteCount
      removed.append(name)
    }
    return removed
  }
}

extension AssetFolder {
  /// Puts a damaged file aside, unless it has become new since it was looked at.
  /// - Returns: whether it did.
  func putAside(_ file: File) throws -> Bool {
    try make(path + "/damaged")
    return try locked {
      var status = stat()
      guard lstat(file.path, &status) == 0, Self.modified(status) == file.modified else { return false }
      try step()
      // What is put aside stays for as long as if it had just been added.
      guard
        touch(file.path) && rename(file.path, "\(path)/damaged/\(file.hash).\(file.type)") == 0 || errno == ENOENT
      else {
        throw AssetError.posix(.unwritable, "put a damaged file aside")
      }
      return true
    }
  }

  /// Puts aside a file that is not what its name says, unless it has become new meanwhile.
  /// - Returns: whether it was damaged and is gone from its place.
  package func putAsideIfDamaged(_ name: AssetName, check: () throws -> Void) throws -> Bool {
    guard let file = try files(of: [name.hash]).first(where: { $0.type == name.type }),
      try Hexadecimal.text(AssetSource(file.path, followsLinks: false).hash { _ in try check() }) != name.hash
    else { return false }
    return try putAside(file)
  }

  /// Puts aside what another program has put where a file belongs: a folder, a link or a pipe. A plain file stays.
  func clear(_ file: String) throws {
    var status = stat()
    guard lstat(file, &status) == 0, status.st_mode & S_IFMT != S_IFREG else { return }
    try make(path + "/damaged")
    try step()
    let aside = "\(path)/damaged/\(URL(fileURLWithPath: file).lastPathComponent)~\(UUID().uuidString)"
    guard rename(file, aside) == 0 || errno == ENOENT else {
      throw AssetError.posix(.unwritable, "put aside what stands in the place of a file")
    }
  }
}
