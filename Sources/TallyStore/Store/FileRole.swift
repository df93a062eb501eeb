import Foundation

/// The role of a file for a store. Check it before you write a file of another kind under its name.
public enum FileRole: Sendable, Equatable {
  /// A database that is a Tally store.
  case store
  /// An SQLite database that is not a store, or not yet.
  case database
  /// A file beside a store that belongs to it: its log, its token, or an unfinished transfer.
  case part(of: String)

  /// Determines the role of the file at `path`; nil for a file without a role, and if there is no file.
  ///
  /// It examines names and the first bytes of files and opens no database, so databases in use keep their locks.
  public init?(of path: String) { self.init(of: path, SystemFiles()) }

  init?(of path: String, _ files: any StoreFiles) {
    let url = URL(fileURLWithPath: path).resolvingSymlinksInPath()
    if let store = Self.owner(of: url, files) {
      self = .part(of: store)
      return
    }
    guard files.kind(of: path) == .file else { return nil }
    if let head = files.head(72, of: path), Self.isDatabase(head) {
      self = head.count == 72 && Self.number(head, at: 68) == Format.applicationID ? .store : .database
      return
    }
    // Everything may still be in the log.
    guard ["-wal", "-journal"].contains(where: { files.kind(of: path + $0) == .file }) else { return nil }
    self = .database
  }

  /// The files beside a store that are written by their names.
  static let suffixes = ["-wal", "-shm", "-journal", "-incarnation", "-incarnation-new"]
  /// The ends of the names of the folders for transfers that go on, and for assets.
  package static let (transfers, assets) = ("-transfers", "-assets")

  /// The store that a file belongs to by its name.
  private static func owner(of url: URL, _ files: any StoreFiles) -> String? {
    let folder = url.deletingLastPathComponent().path
    let candidates = suffixes.map { (url.path, $0) } + [(url.path, transfers), (folder, transfers)]
    for (path, suffix) in candidates where path.hasSuffix(suffix) {
      let store = String(path.dropLast(suffix.count))
      guard files.kind(of: store) == .file, let head = files.head(16, of: store), isDatabase(head) else { continue }
      return store
    }
    return nil
  }

  static func isDatabase(_ head: [UInt8]) -> Bool { head.starts(with: "SQLite format 3\0".utf8) }

  private static func number(_ head: [UInt8], at offset: Int) -> Int {
    head[offset..<offset + 4].reduce(0) { $0 << 8 | Int($1) }
  }
}

extension Store {
  /// Checks whether a store may have this name: another database may have the name of one of the files that would be
  /// written beside it. Use it in a dialog in which people choose a name; opening a store checks it too.
  ///
  /// ```swift
  /// try Store.checkPlace(path)
  /// ```
  /// - Throws: `StoreError.pathTaken` if it may not.
  public static func checkPlace(_ path: String) throws { try StoreFile.checkNeighbors(path, SystemFiles()) }
}

extension StoreFile {
  /// Sees to it that opening or creating a store writes over no other database: the files beside it have names that
  /// follow from its own, and a database may stand there.
  /// - Throws: `StoreError.pathTaken`.
  static func checkNeighbors(_ path: String, _ files: any StoreFiles) throws {
    let isOpenSomewhere = files.kind(of: path + "-wal") != .nothing
    for suffix in FileRole.suffixes {
      // The index of a log that is there is no database.
      if suffix == "-shm", isOpenSomewhere { continue }
      guard files.kind(of: path + suffix) == .file, let head = files.head(16, of: path + suffix) else { continue }
      guard !FileRole.isDatabase(head) else {
        throw StoreError(
          .pathTaken, "\(path)\(suffix) is a database of its own, where a part of \(path) would be written")
      }
    }
    guard files.kind(of: path) == .nothing, case .part(let store)? = FileRole(of: path, files) else { return }
    throw StoreError(.pathTaken, "\(path) is the name of a part of \(store)")
  }
}
