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

/// The folder with the files of a store's assets: `<store>-assets/<first two digits>/<hash>.<type>`.
///
/// A file appears under its name whole or not at all, and is never changed. Adding a file that is there already
/// makes it new, so that a collection under way leaves it: both hold the lock.
package struct AssetFolder: Sendable {
  package let path: String
  /// The time by which files are new or old.
  private let now: @Sendable () -> Date
  #if PlantedFaults
    let planted: PlantedFault
  #endif

  package init(of store: Store) throws {
    guard let file = store.file else {
      throw AssetError(.inMemory, "a store in memory has no folder for assets")
    }
    path = file + FileRole.assets
    now = store.options.now
    #if PlantedFaults
      planted = store.options.planted
    #endif
  }

  /// The path of an asset's file, which need not be there.
  package func path(of name: AssetName) -> String { "\(path)/\(name.hash.prefix(2))/\(name.hash).\(name.type)" }

  /// The path of what has come so far of a file that is on its way.
  package func part(of name: AssetName) -> String { "\(path)/parts/\(name.hash).\(name.type)" }

  /// Whether an asset's file is here with its whole length. Links count as nothing.
  package func has(_ name: AssetName) -> Bool {
    var status = stat()
    guard lstat(path(of: name), &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return false }
    #if PlantedFaults
      if planted.contains(.lengthUnchecked) { return true }
    #endif
    return Int(status.st_size) == name.byteCount
  }

  /// Whether there are files, or ever were.
  package var exists: Bool { Self.leadsToFolder(path) }

  /// Whether nothing has the folder's name. A link to a disk that is not there now has it: its files may come back.
  var isAbsent: Bool {
    var status = stat()
    return lstat(path, &status) != 0 && errno == ENOENT
  }

  // MARK: Writing

  /// A new file under a name of its own, which is gone if it is not given an asset's name.
  final class Draft {
    let path: String
    private let folder: AssetFolder
    private let descriptor: Int32
    private var writing: AssetWriting
    private var isKept = false

    init(in folder: AssetFolder) throws {
      self.folder = folder
      try folder.make(folder.path)
      try folder.step()
      path = "\(folder.path)/~\(UUID().uuidString).tmp"
      descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o666)
      writing = AssetWriting(descriptor)
      guard descriptor >= 0 else { throw AssetError.posix(.unwritable, "create a file in \(folder.path)") }
    }

    deinit {
      close(descriptor)
      if !isKept { folder.tidy(path) }
    }

    func append(_ bytes: ArraySlice<UInt8>) throws { try bytes.withUnsafeBytes { try append($0) } }

    func append(_ bytes: UnsafeRawBufferPointer) throws {
      try folder.step()
      try writing.append(bytes)
    }

    /// Gives the file an asset's name, after its bytes have reached the disk. See `put(_:as:from:)`.
    /// - Returns: whether none was there.
    func keep(as name: AssetName, from places: AssetPlaces? = nil) throws -> Bool {
      guard AssetFolder.sync(descriptor) else { throw AssetError.posix(.unwritable, "write a file to the disk") }
      let isNew = try folder.put(path, as: name, from: places)
      isKept = true
      return isNew
    }
  }

  static func sync(_ descriptor: Int32) -> Bool {
    #if canImport(Darwin)
      // Only a full sync reaches the medium; file servers do not know it.
      if fcntl(descriptor, F_FULLFSYNC) == 0 { return true }
    #endif
    return fsync(descriptor) == 0
  }

  /// Gives a complete file its asset's name. It replaces one that is there already, which may be damaged.
  ///
  /// With `places` it comes from elsewhere, for a row that names it. If none was there, that is noted with the time of
  /// this file while no other can take its place: one that the app adds a moment later has another time, and waits for
  /// a row.
  /// - Returns: whether none was there.
  func put(_ file: String, as name: AssetName, from places: AssetPlaces? = nil) throws -> Bool {
    let target = path(of: name)
    let folder = String(target.prefix(upTo: target.lastIndex(of: "/") ?? target.endIndex))
    try make(folder)
    return try locked {
      let isNew = !has(name)
      try step()
      var status = stat()
      guard touch(file), lstat(file, &status) == 0 else { throw AssetError.posix(.unwritable, "give a file its name") }
      // Before it has the name, so that a process which is killed in between leaves no file without the note.
      if isNew { try places?.note(named: [(name, Self.modified(status))]) }
      guard try move(file, over: target) else { throw AssetError.posix(.unwritable, "give a file its name") }
      syncFolders(of: target)
      return isNew
    }
  }

  /// Renames a file. A folder that another program has put in its place is put aside.
  private func move(_ file: String, over target: String) throws -> Bool {
    if rename(file, target) == 0 { return true }
    guard Self.isFolder(target) else { return false }
    try clear(target)
    return rename(file, target) == 0
  }

  /// Whether there is a folder under a path. Links count as nothing.
  static func isFolder(_ path: String) -> Bool {
    var status = stat()
    return lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
  }

  /// Whether a path leads to a folder, which a person may have moved to another disk.
  private static func leadsToFolder(_ path: String) -> Bool {
    var status = stat()
    return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
  }

  /// A file's name must outlast a power cut as well; not every file system can be asked for that.
  private func syncFolders(of file: String) {
    Self.syncFolder(String(file.prefix(upTo: file.lastIndex(of: "/") ?? file.endIndex)))
    Self.syncFolder(path)
  }

  private static func syncFolder(_ folder: String) {
    let descriptor = open(folder, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return }
    _ = sync(descriptor)
    close(descriptor)
  }

  /// Makes a file as new as one that was just added.
  func touch(_ file: String) -> Bool {
    let seconds = now().timeIntervalSince1970
    let time = timeval(tv_sec: time_t(seconds), tv_usec: suseconds_t((seconds - seconds.rounded(.down)) * 1e6))
    return utimes(file, [time, time]) == 0
  }

  /// Makes a folder, unless it is there. A plain file that another program has put in its place is put aside: beside
  /// it, under its name with a tilde and a UUID.
  func make(_ folder: String) throws {
    try step()
    if try makeNew(folder) || Self.leadsToFolder(folder) { return }
    var status = stat()
    guard lstat(folder, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
      throw AssetError(.unwritable, "\(folder) is not a folder")
    }
    // Another process may do the same. No folder can take the name of a file, so what it has made stays.
    let aside = "\(folder)~\(UUID().uuidString)"
    let descriptor = open(aside, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o666)
    guard descriptor >= 0 else { throw AssetError.posix(.unwritable, "put aside what stands in a folder's place") }
    close(descriptor)
    if rename(folder, aside) != 0 { unlink(aside) }
    guard try makeNew(folder) || Self.leadsToFolder(folder) else {
      throw AssetError(.unwritable, "\(folder) is not a folder")
    }
  }

  /// - Returns: whether nothing had the name.
  private func makeNew(_ folder: String) throws -> Bool {
    if mkdir(folder, 0o777) == 0 {
      Self.syncFolder(URL(fileURLWithPath: folder).deletingLastPathComponent().path)
      return true
    }
    guard errno == EEXIST else { throw AssetError.posix(.unwritable, "create the folder \(folder)") }
    return false
  }

  // MARK: Removing

  /// As long as it lives, no other process or thread adds or removes a file. It is taken within a transaction that
  /// writes, or without any: never the other way round.
  final class Lock {
    private let descriptor: Int32

    init(_ folder: AssetFolder) throws {
      try folder.step()
      descriptor = open(folder.path + "/lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o666)
      guard descriptor >= 0 else { throw AssetError.posix(.unwritable, "lock \(folder.path)") }
      while flock(descriptor, LOCK_EX) != 0 {
        guard errno == EINTR else { throw AssetError.posix(.unwritable, "lock \(folder.path)") }
      }
    }

    // Also after an error of `init`, where the property is set by then.
    deinit { close(descriptor) }
  }

  /// Does something while no other process or thread adds or removes a file.
  func locked<Result>(_ body: () throws -> Result) throws -> Result {
    let lock = try Lock(self)
    return try withExtendedLifetime(lock, body)
  }

  /// Removes an asset's file, unless it has become new since it was looked at, or `check` says no by then.
  /// - Returns: whether it did.
  func remove(_ file: File, if check: () throws -> Bool = { true }) throws -> Bool {
    try locked { try removeLocked(file, if: check) }
  }

  /// The same for a caller that has the lock.
  func removeLocked(_ file: File, if check: () throws -> Bool = { true }) throws -> Bool {
    var status = stat()
    guard lstat(file.path, &status) == 0, Self.modified(status) == file.modified, try check() else { return false }
    try step()
    guard unlink(file.path) == 0 || errno == ENOENT else { throw AssetError.posix(.unwritable, "remove a file") }
    return true
  }

  /// Removes a file, unless it has become new since `time`.
  /// - Returns: whether it did.
  func remove(_ file: String, ifOlderThan time: Date = .distantFuture) throws -> Bool {
    try locked {
      var status = stat()
      guard lstat(file, &status) == 0, Self.modified(status) < time else { return false }
      try step()
      guard unlink(file) == 0 || errno == ENOENT else { throw AssetError.posix(.unwritable, "remove a file") }
      return true
    }
  }

  static func modified(_ status: stat) -> Date {
    #if canImport(Darwin)
      let time = status.st_mtimespec
    #else
      let time = status.st_mtim
    #endif
    return Date(timeIntervalSince1970: Double(time.tv_sec) + Double(time.tv_nsec) / 1e9)
  }

  // MARK: Looking

  /// A file that is here under an asset's name.
  struct File {
    var path: String
    var hash: String
    var type: String
    var byteCount: Int
    var modified: Date
    var name: AssetName? { AssetName(hash: hash, byteCount: byteCount, type: type) }
  }

  /// When a file that is here was added last; nil if it is not here.
  func modified(_ name: AssetName) -> Date? {
    var status = stat()
    return lstat(path(of: name), &status) == 0 ? Self.modified(status) : nil
  }

  /// All files under assets' names, or those of some hashes, in the order of the hashes.
  func files(of hashes: Set<String>? = nil) throws -> [File] {
    let parts = try hashes.map { Set($0.map { String($0.prefix(2)) }) } ?? Set(names(in: path))
    return try parts.filter { $0.utf8.count == 2 }.sorted().flatMap { part in
      try names(in: "\(path)/\(part)").sorted().compactMap { name in
        let pieces = name.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        guard pieces.count == 2, pieces[0].hasPrefix(part), hashes?.contains(pieces[0]) ?? true else { return nil }
        var status = stat()
        let file = "\(path)/\(part)/\(name)"
        guard lstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        return File(
          path: file, hash: pieces[0], type: pieces[1], byteCount: Int(status.st_size), modified: Self.modified(status))
      }
    }
  }

  /// The paths of unfinished files and unfinished downloads, and of files that were put aside as damaged. Folders are
  /// another program's, and stay.
  func leftovers() throws -> [String] {
    let drafts = try names(in: path).filter { $0.hasPrefix("~") && $0.hasSuffix(".tmp") }.map { "\(path)/\($0)" }
    let others = try ["parts", "damaged"].flatMap { folder in
      try names(in: "\(path)/\(folder)").map { "\(path)/\(folder)/\($0)" }
    }
    return (drafts + others).filter { !Self.isFolder($0) }
  }

  /// The hash in the name of a leftover, if it has one.
  static func hash(ofLeftover path: String) -> String {
    String(path.suffix(from: path.lastIndex(of: "/").map(path.index(after:)) ?? path.startIndex).prefix(64))
  }

  private func names(in folder: String) throws -> [String] {
    guard let directory = opendir(folder) else {
      guard errno != ENOENT, errno != ENOTDIR else { return [] }
      throw AssetError.posix(.unreadable, "read the folder \(folder)")
    }
    defer { closedir(directory) }
    var names: [String] = []
    while true {
      errno = 0
      guard let entry = readdir(directory) else {
        guard errno == 0 else { throw AssetError.posix(.unreadable, "read the folder \(folder)") }
        return names
      }
      let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
        pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(validatingCString: $0) }
      }
      if let name, !name.hasPrefix(".") { names.append(name) }
    }
  }
}

/// A plain file that is read once, from its beginning.
package final class AssetSource: Sendable {
  private let descriptor: Int32
  private let before: stat
  private let checksTime: Bool
  package let byteCount: Int

  /// Opens a file. Following links is for files of a person's, and not for those in the folder.
  package init(_ path: String, followsLinks: Bool) throws {
    // Without O_NONBLOCK, opening a pipe waits for a writer.
    descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | (followsLinks ? 0 : O_NOFOLLOW))
    guard descriptor >= 0 else {
      let isGone = [ENOENT, ENOTDIR, ELOOP].contains(errno)
      throw AssetError.posix(!isGone ? .unreadable : followsLinks ? .notAFile : .missing, "open \(path)")
    }
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
      close(descriptor)
      throw AssetError(.notAFile, "\(path) is not a plain file")
    }
    (before, byteCount, checksTime) = (status, Int(status.st_size), followsLinks)
    guard byteCount <= AssetName.byteLimit else {
      // All properties are set, so `deinit` closes it.
      throw AssetError(.tooLarge, "\(path) has \(byteCount) bytes, and \(AssetName.byteLimit) are the most")
    }
  }

  deinit { close(descriptor) }

  /// Reads a file on from where it stands, until its end or until `body` says no. The pieces share their memory, so
  /// `body` copies what it keeps.
  static func read(_ descriptor: Int32, _ body: (ArraySlice<UInt8>) throws -> Bool) throws {
    var piece = [UInt8](repeating: 0, count: 1 << 20)
    while true {
      let count = piece.withUnsafeMutableBytes { Foundation.read(descriptor, $0.baseAddress, $0.count) }
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { throw AssetError.posix(.unreadable, "read a file") }
      guard count > 0, try body(piece[..<count]) else { return }
    }
  }

  /// Some of the bytes, fewer at the end.
  package func bytes(from offset: Int, count: Int) throws -> [UInt8] {
    var (length, isRead) = (0, true)
    let bytes = [UInt8](unsafeUninitializedCapacity: max(0, count)) { buffer, initialized in
      while length < count {
        let got = pread(descriptor, buffer.baseAddress.map { $0 + length }, count - length, off_t(offset + length))
        if got < 0, errno == EINTR { continue }
        isRead = got >= 0
        guard got > 0 else { break }
        length += got
      }
      initialized = length
    }
    guard isRead else { throw AssetError.posix(.unreadable, "read a file") }
    // An end before the end would be taken for the end.
    guard length == min(count, max(0, byteCount - offset)) else {
      throw AssetError(.changed, "the file changed while it was read")
    }
    return bytes
  }

  /// - Throws: `AssetError.changed` if the file is another one than when it was opened, as far as the system tells.
  package func checkUnchanged(read count: Int) throws {
    var now = stat()
    // A file in the folder may have been made new meanwhile; its hash says what it is.
    guard fstat(descriptor, &now) == 0, now.st_size == before.st_size, count == byteCount,
      !checksTime || AssetFolder.modified(now) == AssetFolder.modified(before)
    else { throw AssetError(.changed, "the file changed while it was read") }
  }

  /// Returns the hash of the whole file. Each piece that is read is also passed to `body`.
  package func hash(_ body: (ArraySlice<UInt8>) throws -> Void = { _ in }) throws -> [UInt8] {
    var (hash, count) = (SHA256(), 0)
    try Self.read(descriptor) { piece in
      hash.update(piece)
      try body(piece)
      count += piece.count
      return count <= byteCount
    }
    try checkUnchanged(read: count)
    return hash.finalized()
  }
}
