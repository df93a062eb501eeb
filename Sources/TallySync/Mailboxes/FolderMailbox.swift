import Foundation

/// A mailbox in a folder that several devices share: on a cloud drive, a file server, or a USB stick that is carried
/// between them.
///
/// ```swift
/// await engine.add(FolderMailbox(driveURL), named: "drive")
/// ```
///
/// All devices that use the folder sync with each other through it, even if they are never online together. The folder
/// must exist. If it is missing, a pass fails and does not create it, so a removed stick is not mistaken for an empty
/// one. Subfolders and all other files are left alone. Anyone who can read the folder can read the data, and anyone who
/// can write to it can change it: files are not encrypted.
///
/// A file is written under a temporary name, flushed to the disk and renamed, so no process of this device sees it
/// incomplete. A cloud drive may still show it incomplete on other devices; see `Docs/SharedFolder.md`. A folder cannot
/// announce new entries: an engine checks it every `SyncEngine.Settings.interval` and after its own changes, at the
/// cost of one listing.
public struct FolderMailbox: FileMailbox {
  /// The folder, which must exist when a pass begins.
  public let url: URL

  /// Creates a mailbox in a folder, for instance one on a cloud drive.
  ///
  /// ```swift
  /// let drive = FolderMailbox(URL(fileURLWithPath: "/Users/ann/Dropbox/Scores", isDirectory: true))
  /// try await store.sync(through: drive)
  /// ```
  ///
  /// Nothing is touched or checked yet. A pass throws `MailboxError` if the folder does not exist, and does not create
  /// it: a missing folder may be a stick that is not plugged in. A sandboxed app must hold access to the URL itself.
  public init(_ url: URL) { self.url = url }

  /// The folder's name, for logs and status.
  public var name: String { url.lastPathComponent }
  /// The folder's path. A folder that moves to another path is read again, once; nothing is applied twice.
  public var identity: String { "folder \(url.standardizedFileURL.path)" }

  /// Returns the plain files whose names begin with `prefix`. A file that iCloud has not downloaded is listed as
  /// `.notDownloaded`, and its download is requested.
  ///
  /// Cost: one file system call for each file; no file is opened.
  /// - Throws: `MailboxError` if the folder does not exist or cannot be read.
  public func list(prefix: String) throws -> [MailboxItem] {
    var items: [String: MailboxItem] = [:]
    try FolderFiles.forEachName(in: url.path) { name in
      if FolderFiles.isTemporary(name) { return FolderFiles.removeIfStale(path(name)) }
      let real = Self.placeheld(name) ?? name
      guard real.lowercased().hasPrefix(prefix), items.count < MailboxLimits.files else { return }
      guard let item = FolderFiles.item(real, at: path(name), isPlaceholder: real != name) else { return }
      // Files of assets are requested when the app wants them.
      if item.state == .notDownloaded, prefix != AssetFileName.prefix { requestDownload(name) }
      // A placeholder beside the file itself says nothing.
      if items[real] == nil || items[real]?.state == .notDownloaded { items[real] = item }
    }
    return Array(items.values)
  }

  /// Opens a file and returns a function that reads it. Only plain files are opened, and opening never waits.
  public func get(_ name: String) throws -> () throws -> [UInt8]? {
    let file = try FolderFiles.Reading(try checked(name))
    return { try file.next() }
  }

  /// Opens a file at an offset and returns its bytes from there on.
  public func get(_ name: String, from offset: Int) async throws -> any AsyncSequence<[UInt8], any Error> {
    let file = try FolderFiles.Reading(try checked(name), from: offset)
    return MailboxPieces { try file.next() }
  }

  /// Writes a file under a temporary name, flushes it and renames it, so no process of this device sees part of it.
  ///
  /// An existing file of that name is replaced. If the source throws or the disk is full, nothing remains; a later
  /// listing removes the temporary file of a process that was killed.
  /// - Throws: `MailboxError`; the source's errors.
  public func put(_ name: String, from source: () throws -> [UInt8]?) throws {
    let target = try checked(name)
    try FolderFiles.save(source, to: target, in: url.path)
  }

  /// Removes a file. Removing a file that does not exist is not an error.
  public func remove(_ name: String) throws { try FolderFiles.remove(try checked(name)) }

  private func path(_ name: String) -> String { url.path + "/" + name }

  /// The path of a name that can mean nothing but a file in the folder.
  private func checked(_ name: String) throws -> String {
    guard !name.isEmpty, !name.hasPrefix("."), name.utf8.count <= MailboxLimits.nameBytes,
      !name.utf8.contains(where: { $0 == 0x2F || $0 == 0 })
    else { throw MailboxError(.invalidName, "this cannot be a file's name") }
    return path(name)
  }

  /// The name of the file that `.<name>.icloud` stands for.
  private static func placeheld(_ name: String) -> String? {
    guard name.hasPrefix("."), name.hasSuffix(".icloud") else { return nil }
    return String(name.dropFirst().dropLast(".icloud".count))
  }

  /// Asks the drive for a file that is not on this device.
  func requestDownload(of name: String) { requestDownload(".\(name).icloud") }

  private func requestDownload(_ name: String) {
    #if canImport(Darwin)
      try? FileManager.default.startDownloadingUbiquitousItem(at: url.appendingPathComponent(name))
    #endif
  }
}
