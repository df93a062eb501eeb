import Foundation
import TallyCRDT
import TallySchema
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

/// A file on its way to this device. What has come stays under `parts` and goes on with the next one for the same name;
/// it gets its name once all of it is what the name says.
package final class AssetDownloading {
  private let name: AssetName
  private let folder: AssetFolder
  private let path: String
  private let descriptor: Int32
  private var writing: AssetWriting
  private var hash = SHA256()
  /// The number of bytes that have come so far.
  package private(set) var byteCount = 0
  /// Whether it goes on with bytes that may have come from another place.
  package private(set) var isResumed = false

  /// Begins, or goes on.
  /// - Parameters:
  ///   - name: the file's name.
  ///   - folder: the folder of files.
  ///   - check: called for each MiB of what has come before, which is read once more; what it throws ends that.
  /// - Throws: `AssetError` of code `busy` while another process or thread gets the same file; `unwritable`.
  package init(_ name: AssetName, in folder: AssetFolder, check: () throws -> Void = {}) throws {
    (self.name, self.folder, path) = (name, folder, folder.part(of: name))
    try folder.make(folder.path)
    try folder.make(folder.path + "/parts")
    try folder.clear(path)
    try folder.step()
    descriptor = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o666)
    writing = AssetWriting(descriptor)
    guard descriptor >= 0 else { throw AssetError.posix(.unwritable, "create a file in \(folder.path)/parts") }
    // Another one may have given it its name between the two calls.
    guard flock(descriptor, LOCK_EX | LOCK_NB) == 0, Self.isOpen(path, as: descriptor) else {
      throw AssetError(.busy, "the file is being received already")
    }
    // It is in use: leftovers of a week go.
    _ = folder.touch(path)
    do {
      try readWhatIsThere(check)
      writing = AssetWriting(descriptor, at: byteCount)
    } catch let error as AssetError where error.code == .unreadable {
      // A disk that has lost a piece of it never gives it back.
      try startOver()
    }
    isResumed = byteCount > 0
  }

  // Also after an error of `init`, where all properties are set by then.
  deinit {
    // Of what is not there, nothing is to stay.
    if byteCount == 0, descriptor >= 0, Self.isOpen(path, as: descriptor) { folder.tidy(path) }
    close(descriptor)
  }

  /// Whether the file at a path is the one that is open, and no other has taken its place.
  private static func isOpen(_ path: String, as descriptor: Int32) -> Bool {
    var (mine, now) = (stat(), stat())
    return fstat(descriptor, &mine) == 0 && lstat(path, &now) == 0 && mine.st_ino == now.st_ino
      && mine.st_dev == now.st_dev
  }

  private func readWhatIsThere(_ check: () throws -> Void) throws {
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
      throw AssetError(.unwritable, "\(path) is not a plain file")
    }
    guard Int(status.st_size) <= name.byteCount else { return try startOver() }
    try AssetSource.read(descriptor) { piece in
      try check()
      hash.update(piece)
      byteCount += piece.count
      return byteCount <= name.byteCount
    }
    guard byteCount <= name.byteCount else { return try startOver() }
  }

  private func startOver() throws {
    try folder.step()
    guard ftruncate(descriptor, 0) == 0, lseek(descriptor, 0, SEEK_SET) == 0 else {
      throw AssetError.posix(.unwritable, "write a file")
    }
    (writing, hash, byteCount) = (AssetWriting(descriptor), SHA256(), 0)
  }

  /// Takes the next bytes.
  /// - Throws: `AssetError` of code `wrongContent` if they are too many; `unwritable`.
  package func append(_ bytes: ArraySlice<UInt8>) throws {
    guard byteCount + bytes.count <= name.byteCount else { throw try refusal() }
    try folder.step()
    try writing.append(bytes)
    hash.update(bytes)
    byteCount += bytes.count
  }

  /// Gives the file its name, and notes with its time that a row names it. `AssetPlaces.noteArrival` comes next.
  /// - Returns: whether it was needed: the app may have added the same file meanwhile.
  /// - Throws: `AssetError` of code `wrongContent` if it is not what the name says; then nothing of it stays. Of code
  ///   `missing` if it is not complete, or `unwritable`; then what has come stays. Of code `changed` if another program
  ///   has removed it.
  package func finish() throws -> Bool {
    guard byteCount == name.byteCount else {
      throw AssetError(.missing, "only \(byteCount) of \(name.byteCount) bytes of \(name) have come")
    }
    guard isRight else { throw try refusal() }
    guard AssetFolder.sync(descriptor) else { throw AssetError.posix(.unwritable, "write a file to the disk") }
    guard Self.isOpen(path, as: descriptor) else {
      throw AssetError(.changed, "another program has removed what had come of \(name)")
    }
    return try folder.put(path, as: name, from: AssetPlaces(folder))
  }

  private var isRight: Bool {
    #if PlantedFaults
      if folder.planted.contains(.hashUnchecked) { return true }
    #endif
    return Hexadecimal.text(hash.finalized()) == name.hash
  }

  private func refusal() throws -> AssetError {
    try startOver()
    folder.tidy(path)
    return AssetError(.wrongContent, "what has come is not \(name)")
  }
}
