import Foundation
import TallyAssets
import TallyCRDT
import TallyStore

/// The sources of an import's files: blobs in rows, Core Data's external files, and files that rows name by path.
struct ImportedFiles {
  /// The number of bytes by which the type of a file is recognized.
  private static let headBytes = 256

  private let assets: Assets
  private let externalData: ExternalData
  /// The folder of the files that rows name, as the map has it; nil if it names none.
  private let folder: String?
  /// The folder's path without links; nil if there is no such folder.
  private let root: String?
  /// The databases that are open, whatever their paths. SQLite's locks on a file end when another descriptor of it is
  /// closed.
  private let databases: Set<FileIdentity>

  init(_ store: Store, _ source: ForeignDatabase, folder: String?) {
    (assets, externalData, self.folder) = (store.assets, source.externalData, folder)
    root = folder.flatMap { folder in
      let beside = source.url.deletingLastPathComponent().appendingPathComponent(folder).path
      return Self.resolved(folder.hasPrefix("/") ? folder : beside)
    }
    let places = store.file.map { "\($0)\(FileRole.assets)/places.sqlite" }
    self.databases = Set(
      [source.url.path, store.file, places].compactMap { $0 }.flatMap { path in
        ["", "-wal", "-shm", "-journal"].map { path + $0 }
      }
      .compactMap(FileIdentity.init))
  }

  /// A file, under whichever name.
  private struct FileIdentity: Hashable {
    let device: UInt64, number: UInt64

    init?(_ path: String) {
      var status = stat()
      guard stat(path, &status) == 0 else { return nil }
      (device, number) = (UInt64(status.st_dev), UInt64(status.st_ino))
    }
  }

  /// The path of what is there, without links.
  private static func resolved(_ path: String) -> String? {
    guard let resolved = realpath(path, nil) else { return nil }
    defer { free(resolved) }
    return String(validatingCString: resolved)
  }

  /// Checks that the files of these tables can be added.
  /// - Throws: `AssetError.inMemory` if the store has no place for files; `StoreError.invalidMap` if the map's folder
  ///   is not there.
  func check(_ tables: [ImportPlan.Table]) throws {
    if tables.contains(where: \.hasFiles) { _ = try assets.folder }
    guard let folder, root == nil, tables.flatMap(\.fields).contains(where: { $0.column.form == .path }) else { return }
    throw StoreError(.invalidMap, "the folder of files, \(printable(folder)), is not there")
  }

  /// Adds the file of a value that is not null. A file that is there already is not added again.
  /// - Returns: the file's name; null for a value without bytes.
  /// - Throws: a mismatch if the value is, or names, no file that can be taken; `AssetError` if it cannot be added.
  func value(_ value: Value, _ field: ImportPlan.Field) throws -> Value {
    let type = field.column.type
    switch (field.column.form, value) {
    case (nil, .blob(let bytes)): return try add(bytes, type)
    case (.coreDataBlob?, .blob(let bytes)):
      switch try ExternalData.place(bytes) {
      case .inline(let content): return try add(content, type)
      case .file(let name):
        let file = try externalData.find(name)
        return file.byteCount == 0 ? .null : try add(file: file.url.path, type)
      }
    case (.path?, .text(let path)):
      if path.isEmpty { return .null }
      let own = URL(fileURLWithPath: path).pathExtension.lowercased()
      return try add(file: try file(at: path), type ?? (AssetName.isType(own) ? own : nil))
    case (nil, .text(let text)) where AssetName(text) == nil:
      throw ForeignValue.Mismatch(
        reason: "has a TEXT that names no asset (\"as\": \"path\" takes the file at a path), and the field is of kind "
          + "asset")
    default: return try ForeignValue.value(value, field.column, for: field.schema, externalData)
    }
  }

  private func add(_ bytes: [UInt8], _ type: String?) throws -> Value {
    if bytes.isEmpty { return .null }
    return .text(try taking { try assets.add(bytes: bytes, type: type ?? AssetTypeRecognition.type(of: bytes)) }.text)
  }

  private func add(file path: String, _ type: String?) throws -> Value {
    let name = try taking {
      let head = try AssetSource(path, followsLinks: false).bytes(from: 0, count: Self.headBytes)
      let type = type ?? AssetTypeRecognition.type(of: head)
      return try assets.add(contentsOf: URL(fileURLWithPath: path), type: type)
    }
    return .text(name.text)
  }

  /// The path, without links, of a file that a row names.
  private func file(at path: String) throws -> String {
    guard !path.hasPrefix("/") else {
      throw ForeignValue.Mismatch(
        reason: "has an absolute path, and paths are relative to the map's \"folder\"; an expression can make it that")
    }
    let names = path.utf8.split(separator: UInt8(ascii: "/"))
    guard let root, !path.utf8.contains(0), !names.contains(where: { $0.elementsEqual("..".utf8) }) else {
      throw ForeignValue.Mismatch(reason: "has a path that leads out of the map's \"folder\"")
    }
    guard let file = Self.resolved("\(root)/\(path)") else {
      let isMissing = [ENOENT, ENOTDIR, ELOOP, ENAMETOOLONG].contains(errno)
      throw ForeignValue.Mismatch(
        reason: isMissing
          ? "names a file that is not in the map's \"folder\"; an expression can make null of it"
          : "names a file that cannot be read: \(String(cString: strerror(errno)))")
    }
    guard file.utf8.starts(with: (root == "/" ? root : "\(root)/").utf8) || file == root else {
      throw ForeignValue.Mismatch(reason: "has a path that leads out of the map's \"folder\", by a symbolic link")
    }
    guard FileIdentity(file).map(databases.contains) != true else {
      throw ForeignValue.Mismatch(reason: "names a database that is open")
    }
    return file
  }

  /// Says what is wrong with the row's file in the words of an import. The rest is no fault of the row.
  private func taking(_ body: () throws -> AssetName) throws -> AssetName {
    do {
      return try body()
    } catch let error as AssetError {
      let reason: String
      switch error.code {
      case .notAFile, .missing: reason = "names what is no plain file"
      case .tooLarge: reason = "has a file of more than \(AssetName.byteLimit) bytes"
      case .unreadable: reason = "has a file that cannot be read"
      default: throw error
      }
      throw ForeignValue.Mismatch(reason: reason, cause: error)
    }
  }
}
