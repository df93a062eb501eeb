import Foundation
import TallyCRDT
import TallySchema
import TallyStore
import TallyWire

extension Store {
  /// The files that records refer to, such as pictures: they are in a folder beside the store. See ``Assets``.
  public var assets: Assets {
    _ = Assets.removesFiles
    return Assets(store: self)
  }
}

/// The files that a store's records refer to by fields of the kind `asset`.
///
/// ```swift
/// let name = try store.assets.add(contentsOf: pictureURL)
/// try store.write { db in
///   try db.execute(sql: "UPDATE Person SET photo = ? WHERE id = ?", arguments: [name, ann])
/// }
/// if let url = try store.assets.url(of: name) { print(url) }
/// ```
///
/// The database has only the names. The files are in the folder `<store>-assets`, so they cost nothing to queries,
/// deltas and opening; to copy a store, copy that folder as well. Add the file first and write the row second: a row
/// then never names a file that was not there. A file that no row has named for a day is removed.
///
/// Files travel with a sync, behind the records. A device gets a file when the app asks for it, or with the next sync
/// if the field is `eager`. The name says what the bytes must be, and what differs is never shown.
public struct Assets: Sendable {
  let store: Store

  /// The folder with the files.
  /// - Throws: `AssetError.inMemory`.
  package var folder: AssetFolder { get throws { try AssetFolder(of: store) } }

  // MARK: Adding

  /// Adds a file with these bytes. If it is there already, it is read, and is not written again unless it is damaged.
  ///
  /// ```swift
  /// let name = try store.assets.add(jpeg, type: "jpg")
  /// ```
  ///
  /// When it returns, the file is on the disk.
  /// - Parameters:
  ///   - data: the bytes, at most 4 GiB.
  ///   - type: the file's extension, 1 to 12 lowercase letters and digits.
  /// - Returns: the file's name, for a row.
  /// - Throws: `AssetError` of code `inMemory`, `invalidType`, `tooLarge`, `unwritable`. Then there is no file.
  public func add(_ data: Data, type: String) throws -> AssetName {
    try data.withUnsafeBytes { try add($0, type: type) }
  }

  package func add(bytes: [UInt8], type: String) throws -> AssetName {
    try bytes.withUnsafeBytes { try add($0, type: type) }
  }

  private func add(_ bytes: UnsafeRawBufferPointer, type: String) throws -> AssetName {
    let folder = try folder
    var hash = SHA256()
    hash.update(bytes)
    let name = try name(Hexadecimal.text(hash.finalized()), bytes.count, type)
    guard try !folder.renew(name) else {
      try noteAddition(name, folder, isNew: false)
      return name
    }
    let draft = try AssetFolder.Draft(in: folder)
    try draft.append(bytes)
    try noteAddition(name, folder, isNew: draft.keep(as: name))
    return name
  }

  /// Adds a copy of a file. The file itself stays where it is.
  ///
  /// ```swift
  /// let name = try store.assets.add(contentsOf: pictureURL)
  /// ```
  ///
  /// Cost: reads and writes the file once, with 1 MiB of memory, and hashes it on the way. When it returns, the copy is
  /// on the disk.
  /// - Parameters:
  ///   - url: a plain file of at most 4 GiB, or a link to one.
  ///   - type: the extension that the copy gets; nil for the file's own, in lowercase.
  /// - Returns: the copy's name, for a row.
  /// - Throws: `AssetError` of code `inMemory`, `invalidType`, `notAFile`, `tooLarge`, `unreadable`, `unwritable`;
  ///   `changed` if another program wrote to the file meanwhile. Then there is no copy.
  public func add(contentsOf url: URL, type: String? = nil) throws -> AssetName {
    let folder = try folder
    let type = type ?? url.pathExtension.lowercased()
    try checkType(type)
    let source = try AssetSource(url.path, followsLinks: true)
    let draft = try AssetFolder.Draft(in: folder)
    let hash = try source.hash(draft.append)
    let name = try name(Hexadecimal.text(hash), source.byteCount, type)
    try noteAddition(name, folder, isNew: draft.keep(as: name))
    return name
  }

  /// Adds a copy of another store's file, for a row that names it, if it is what its name says.
  /// - Returns: whether it is.
  func add(_ name: AssetName, from path: String) throws -> Bool {
    let folder = try folder
    let draft = try AssetFolder.Draft(in: folder)
    do {
      let source = try AssetSource(path, followsLinks: false)
      guard Hexadecimal.text(try source.hash(draft.append)) == name.hash else { return false }
    } catch let error as AssetError where [.missing, .notAFile, .unreadable, .changed].contains(error.code) {
      return false
    }
    _ = try draft.keep(as: name, from: places())
    try noteAddition(name, folder, isNew: false)
    return true
  }

  private func noteAddition(_ name: AssetName, _ folder: AssetFolder, isNew: Bool) throws {
    try places().noteAddition(name, isNew: isNew)
    AssetNews.arrivals.tell(folder.path)
  }

  func checkType(_ type: String) throws {
    guard AssetName.isType(type) else {
      throw AssetError(
        .invalidType, "\(printable(type)) is not a file type: 1 to 12 lowercase letters and digits, such as jpg")
    }
  }

  private func name(_ hash: String, _ byteCount: Int, _ type: String) throws -> AssetName {
    try checkType(type)
    guard let name = AssetName(hash: hash, byteCount: byteCount, type: type) else {
      throw AssetError(.tooLarge, "the file has \(byteCount) bytes, and \(AssetName.byteLimit) are the most")
    }
    return name
  }

  // MARK: Finding

  /// Returns the file of a name; nil if it is not on this device, or not whole.
  ///
  /// ```swift
  /// if let url = try store.assets.url(of: photo) { print(url) }
  /// ```
  ///
  /// Do not change the file. Do not keep the URL in the database: the folder may be elsewhere at the next launch.
  ///
  /// Cost: one call of the file system.
  /// - Throws: `AssetError.inMemory`.
  public func url(of name: AssetName) throws -> URL? {
    let folder = try folder
    return folder.has(name) ? URL(fileURLWithPath: folder.path(of: name)) : nil
  }

  /// Returns the file of a name, and waits until it has come if it is not on this device.
  ///
  /// ```swift
  /// let url = try await store.assets.url(for: photo)
  /// ```
  ///
  /// The wish is remembered, also if the app ends: the next sync with a place that has the file brings it. A
  /// ``SyncEngine`` of this process begins one at once. Without a sync it waits until the task is cancelled.
  /// - Throws: `AssetError` of code `inMemory`, `unwritable`; `CancellationError`.
  public func url(for name: AssetName) async throws -> URL {
    let folder = try folder
    let arrivals = AssetNews.arrivals.stream(of: folder.path)
    if let url = try url(of: name) { return url }
    try await BlockingWork.run { [self] in try want(name) }
    let (reasons, feed) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    let following = Task { for await _ in arrivals { feed.yield() } }
    // Another process may bring it, which this process does not notice.
    let looking = Task {
      while !Task.isCancelled {
        try await Task.sleep(for: .seconds(2))
        feed.yield()
      }
    }
    defer {
      following.cancel()
      looking.cancel()
    }
    for await _ in reasons {
      if let url = try url(of: name) { return url }
    }
    throw CancellationError()
  }

  /// Asks for a file that is not on this device: the next sync with a place that has it brings it.
  ///
  /// ```swift
  /// try store.assets.want(photo)
  /// ```
  ///
  /// It does not wait. A ``SyncEngine`` of this process begins a sync at once.
  /// - Throws: `AssetError` of code `inMemory`, `unwritable`.
  public func want(_ name: AssetName) throws {
    guard try url(of: name) == nil else { return }
    try places().wish(for: name)
    AssetNews.wishes.tell(try folder.path)
  }
}

extension AssetFolder {
  /// Makes a file that is here and is what its name says as new as one that was just added.
  /// - Returns: whether it is. One that is damaged or cannot be read is to be written again.
  func renew(_ name: AssetName) throws -> Bool {
    guard has(name), let source = try? AssetSource(path(of: name), followsLinks: false),
      let hash = try? source.hash(), Hexadecimal.text(hash) == name.hash
    else { return false }
    return try locked { has(name) && touch(path(of: name)) }
  }
}
