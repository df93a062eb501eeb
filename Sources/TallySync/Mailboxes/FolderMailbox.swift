import Foundation

/// A folder that several devices share: on a cloud drive, a file server, or a stick that goes from one to the other.
///
/// ```swift
/// await engine.add(FolderMailbox(driveURL), named: "drive")
/// ```
///
/// All who use the folder sync with each other through it, also if they are never online together. The folder must
/// exist. If it is gone a pass fails and nothing is created in its place, so that a stick that is pulled out is not
/// mistaken for an empty one. Folders below it and everybody else's files are left alone. Who can read the folder can
/// read the data, and who can write to it can change it: files are not encrypted.
///
/// A file is written under another name, brought to the disk and renamed, so no process of this device sees it before
/// it is whole. What a drive makes of it on other devices is another matter; see `Docs/SharedFolder.md`. A folder tells
/// no device of news: an engine looks into it every `SyncEngine.Settings.interval` and after changes of its own, at the
/// cost of one listing.
public struct FolderMailbox: FileMailbox {
  /// The folder, which must exist when a pass begins.
  public let url: URL

  /// Creates a mailbox in a folder, for instance one that a cloud drive carries.
  ///
  /// ```swift
  /// let drive = FolderMailbox(URL(fileURLWithPath: "/Users/ann/Dropbox/Scores", isDirectory: true))
  /// try await store.sync(through: drive)
  /// ```
  ///
  /// Nothing is touched or checked yet. A pass throws `MailboxError` if the folder is not there, and does not create
  /// it: a missing folder may be a stick that is not plugged in. An app in a sandbox holds access to the URL itself.
  public init(_ url: URL) { self.url = url }

  /// The folder's name, for logs and status.
  public var name: String { url.lastPathComponent }
  /// The folder's path. A folder that comes under another path is read again, once; nothing is applied twice.
  public var identity: String { "folder \(url.standardizedFileURL.path)" }

  /// Lists the plain files whose name begins with `prefix`. A file that iCloud has not downloaded is listed as
  /// `.notDownloaded`, and its download is requested.
  ///
  /// Cost: one call of the file system for each file; none is opened.
  /// - Throws: `MailboxError` if the folder is not there or cannot be read.
  public func list(prefix: String) throws -> [MailboxItem] {
    var items: [String: MailboxItem] = [:]
    try FolderFiles.forEachName(in: url.path) { name in
      if FolderFiles.isTemporary(name) { return FolderFiles.removeIfStale(path(name)) }
      let real = Self.placeheld(name) ?? name
      guard real.lowercased().hasPrefix(prefix), items.count < MailboxLimits.files else { return }
      guard let item = FolderFiles.item(real, at: path(name), isPlaceholder: real != name) else { return }
      if item.state == .notDownloaded { requestDownload(name) }
      // A placeholder beside the file itself says nothing.
      if items[real] == nil || items[real]?.state == .notDownloaded { items[real] = item }
    }
    return Array(items.values)
  }

  /// Opens a file. Nothing but a plain file is ever opened for reading, and never waited for.
  public func get(_ name: String) throws -> () throws -> [UInt8]? {
    let file = try FolderFiles.Reading(try checked(name))
    return { try file.next() }
  }

  /// Opens a file at an offset.
  public func get(_ name: String, from offset: Int) async throws -> any AsyncSequence<[UInt8], any Error> {
    let file = try FolderFiles.Reading(try checked(name), from: offset)
    return MailboxPieces { try file.next() }
  }

  /// Writes a file under a temporary name, flushes it and renames it: no process of this device sees part of it.
  ///
  /// A file of the name is replaced. If the source throws or the disk is full, nothing is left; the temporary file of a
  /// process that was killed goes with a later listing.
  /// - Throws: `MailboxError`; what the source throws.
  public func put(_ name: String, from source: () throws -> [UInt8]?) throws {
    let target = try checked(name)
    try FolderFiles.save(source, to: target, in: url.path)
  }

  /// Removes a file; one that is not there is no error.
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

  private func requestDownload(_ name: String) {
    #if canImport(Darwin)
      try? FileManager.default.startDownloadingUbiquitousItem(at: url.appendingPathComponent(name))
    #endif
  }
}
