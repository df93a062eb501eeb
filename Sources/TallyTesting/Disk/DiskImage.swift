/// The whole content of a simulated disk: its files, and the parts of them that a power cut may still lose. It is a
/// value: keep one to restore the disk, to copy it to other machines, or to try a hundred different power cuts on it.
public struct DiskImage: Sendable {
  /// A name that came, went or passed to another file.
  struct NameChange: Sendable {
    var name: String
    var before: UInt64?
    var after: UInt64?
  }

  private(set) var files: [UInt64: DiskFile] = [:]
  private(set) var names: [String: UInt64] = [:]
  /// The changes to the folder since its last sync, in order. A file system keeps that order (ext4, XFS and APFS
  /// journal it).
  private var unsyncedNames: [[NameChange]] = []
  private var lastNumber: UInt64 = 0

  /// Creates the image of an empty disk.
  public init() {}

  /// The names of the files, in order.
  public var fileNames: [String] { names.keys.sorted() }

  /// The total number of bytes of the files.
  public var byteCount: Int { files.values.reduce(0) { $0 + $1.bytes.count } }

  /// The bytes of a file; nil if there is none. Bytes that are assigned here count as flushed to the disk.
  public subscript(name: String) -> [UInt8]? {
    get { names[name].flatMap { files[$0]?.bytes } }
    set {
      if let newValue {
        let number = names[name] ?? number()
        names[name] = number
        files[number] = DiskFile(synced: newValue)
      } else if let number = names.removeValue(forKey: name) {
        files[number] = nil
      }
    }
  }

  /// Returns the same files copied one by one, as in a backup or on a new device: with other file numbers, and all
  /// flushed to the disk.
  public func copied() -> DiskImage {
    var copy = DiskImage()
    copy.lastNumber = lastNumber
    for name in fileNames { copy[name] = self[name] }
    return copy
  }

  /// Returns the disk after a power cut: synced data remains, and the generator decides for each other part whether it
  /// remains, is lost or is torn.
  public func afterPowerCut(using generator: inout some RandomNumberGenerator) -> DiskImage {
    var image = self
    let loss = DiskLoss.draw(using: &generator)
    let kept =
      switch loss {
      case .all: 0
      case .nothing: unsyncedNames.count
      case .afterAPoint, .scattered: generator.below(unsyncedNames.count + 1)
      }
    for change in unsyncedNames[kept...].reversed().flatMap({ $0.reversed() }) {
      image.names[change.name] = change.before
    }
    image.unsyncedNames = []
    for number in files.keys.sorted() { image.files[number]?.lose(loss, using: &generator) }
    image.dropNameless(except: [])
    return image
  }
}

// MARK: - What programs do

extension DiskImage {
  mutating func create(_ name: String) -> UInt64 {
    let number = number()
    files[number] = DiskFile()
    unsyncedNames.append([NameChange(name: name, before: names[name], after: number)])
    names[name] = number
    return number
  }

  mutating func remove(_ name: String) {
    unsyncedNames.append([NameChange(name: name, before: names[name], after: nil)])
    names[name] = nil
  }

  mutating func rename(_ old: String, to new: String) {
    let number = names[old]
    unsyncedNames.append([
      NameChange(name: old, before: number, after: nil), NameChange(name: new, before: names[new], after: number),
    ])
    names[old] = nil
    names[new] = number
  }

  mutating func change(_ number: UInt64, _ body: (inout DiskFile) -> Void) {
    if files[number] != nil { body(&files[number, default: DiskFile()]) }
  }

  /// From here on a power cut takes no name that is there, and brings none back.
  mutating func syncNames(open: Set<UInt64>) {
    unsyncedNames = []
    dropNameless(except: open)
  }

  private mutating func dropNameless(except open: Set<UInt64>) {
    let named = Set(names.values).union(open)
    files = files.filter { named.contains($0.key) }
  }

  private mutating func number() -> UInt64 {
    lastNumber += 1
    return lastNumber
  }
}
