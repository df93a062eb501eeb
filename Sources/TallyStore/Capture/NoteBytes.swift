import Foundation
import GRDBSQLite
import TallyCRDT
import TallyWire

/// The bytes of a transaction's notes, in pieces of a mebibyte: they grow without being copied. What is large goes to a
/// temporary file that has no name, so that flipping one column of many large rows, or deleting them, costs little
/// memory.
final class NoteBytes {
  private static let pieceBits = 20
  private static let pieceSize = 1 << pieceBits
  /// A text or blob with more bytes than this goes to the file.
  private static let largeValue = 32 << 10

  @exclusivity(unchecked) private var pieces: [UnsafeMutableRawPointer] = []
  @exclusivity(unchecked) private var used = pieceSize
  private var file: UnsafeMutablePointer<FILE>?
  private var fileSize = 0

  deinit {
    for piece in pieces { piece.deallocate() }
    if let file { fclose(file) }
  }

  // MARK: Writing

  /// Appends a clock, a key (empty for none) and values.
  /// - Returns: where they are.
  func append(_ clock: InlineClock, key: [UInt8], _ values: [(place: Int, value: ColumnValue)]) throws -> UInt32 {
    let fixed = InlineClock.size + 8 + key.count
    let sizes = values.map { $0.value.withBytes(\.count) }
    var limit = Self.largeValue
    var total = fixed + sizes.reduce(0) { $0 + 16 + ($1 > limit ? 8 : $1) }
    if total > Self.pieceSize {
      limit = 128
      total = fixed + sizes.reduce(0) { $0 + 16 + ($1 > limit ? 8 : $1) }
    }
    guard total <= Self.pieceSize else { throw StoreError(.valueTooLarge, "a row has too many columns to be captured") }
    let (position, start) = try reserve(total)
    var pointer = start
    clock.withBytes { pointer.put($0) }
    pointer.put(UInt32(key.count))
    key.withUnsafeBytes { pointer.put($0) }
    pointer.put(UInt32(values.count))
    for (index, (place, value)) in values.enumerated() {
      pointer.put(UInt32(place) << 4 | UInt32(value.type) << 1 | (sizes[index] > limit ? 1 : 0))
      switch value.type {
      case SQLITE_INTEGER: pointer.put(value.int64)
      case SQLITE_FLOAT: pointer.put(value.double.bitPattern)
      case SQLITE_TEXT, SQLITE_BLOB:
        try value.withBytes { bytes in
          pointer.put(UInt32(bytes.count))
          if bytes.count > limit {
            pointer.put(Int64(try spill(bytes)))
          } else {
            pointer.put(UnsafeRawBufferPointer(bytes))
          }
        }
      default: break
      }
    }
    return position
  }

  /// Appends the clock of a small row, a key (empty for none) and the values of all its columns. `copy` puts clock and
  /// values where it is told to: after the clock a gap of as many bytes as its second parameter says, and no more than
  /// its third says in all.
  /// - Returns: where they are; nil if the row is not small, or if many have been noted: then the values that a write
  ///   changes are to be noted, and no others.
  func append(
    key: UnsafeBufferPointer<UInt8>, columns: Int, _ copy: (UnsafeMutableRawPointer, Int, Int) throws -> Int
  ) throws -> UInt32? {
    guard pieces.count <= Self.smallRowPieces, key.count < Self.smallRow / 2 else { return nil }
    let (position, start) = try reserve(Self.smallRow)
    let size = try copy(start, 8 + key.count, Self.smallRow)
    used -= Self.smallRow - size
    guard size > 0 else { return nil }
    var pointer = start + InlineClock.size
    pointer.put(UInt32(key.count))
    pointer.put(UnsafeRawBufferPointer(key))
    pointer.put(UInt32(columns) | Self.wholeRow)
    return position
  }

  /// A row that has no more bytes than this is noted as a whole, which is cheaper than finding out what has changed.
  static let smallRow = 2000
  /// As long as there are not more pieces than these.
  private static let smallRowPieces = 8
  private static let wholeRow: UInt32 = 1 << 31

  private func reserve(_ count: Int) throws -> (UInt32, UnsafeMutableRawPointer) {
    if used + count > Self.pieceSize {
      guard pieces.count < 1 << (32 - Self.pieceBits) - 1 else {
        throw StoreError(.transactionTooLarge, "one transaction has changed too many rows")
      }
      pieces.append(.allocate(byteCount: Self.pieceSize, alignment: 16))
      used = 0
    }
    let piece = pieces.count - 1
    defer { used += count }
    return (UInt32(piece << Self.pieceBits | used), pieces[piece] + used)
  }

  private func spill(_ bytes: UnsafeBufferPointer<UInt8>) throws -> Int {
    guard let file = file ?? tmpfile() else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
    self.file = file
    guard fseek(file, fileSize, SEEK_SET) == 0, fwrite(bytes.baseAddress, 1, bytes.count, file) == bytes.count else {
      throw POSIXError(.init(rawValue: errno) ?? .ENOSPC)
    }
    defer { fileSize += bytes.count }
    return fileSize
  }

  // MARK: Reading

  /// The content of one note.
  struct Note {
    var clock: InlineClock
    var key: [UInt8]
    var values: [(place: Int, value: Value)]
  }

  func note(at position: UInt32) throws -> Note {
    var pointer = self.pointer(position)
    let clock = try InlineClock(UnsafeRawBufferPointer(start: pointer, count: InlineClock.size))
    pointer += InlineClock.size
    let key = Array(pointer.take(Int(pointer.take(UInt32.self))))
    var note = Note(clock: clock, key: key, values: [])
    let count = Int(pointer.take(UInt32.self) & ~Self.wholeRow)
    note.values.reserveCapacity(count)
    for _ in 0..<count {
      let head = pointer.take(UInt32.self)
      note.values.append((Int(head >> 4), try value(Int32(head >> 1 & 7), isSpilled: head & 1 == 1, &pointer)))
    }
    return note
  }

  private func pointer(_ position: UInt32) -> UnsafeRawPointer {
    UnsafeRawPointer(pieces[Int(position >> UInt32(Self.pieceBits))]) + Int(position) & (Self.pieceSize - 1)
  }

  /// The clock, the key and the number of columns of a note of a whole row; nil if it is another note.
  func wholeRow(
    at position: UInt32
  ) throws -> (clock: InlineClock, key: UnsafeRawBufferPointer, columns: Int)? {
    let start = self.pointer(position)
    var pointer = start + InlineClock.size
    let key = pointer.take(Int(pointer.take(UInt32.self)))
    let count = pointer.take(UInt32.self)
    guard count & Self.wholeRow != 0 else { return nil }
    let clock = try InlineClock(UnsafeRawBufferPointer(start: start, count: InlineClock.size))
    return (clock, key, Int(count & ~Self.wholeRow))
  }

  /// Calls `body` with each value of a note of a whole row, in the order of the columns.
  func forEachValue(ofWholeRowAt position: UInt32, _ body: (Int, PackedValue) throws -> Void) throws {
    var pointer = self.pointer(position) + InlineClock.size
    _ = pointer.take(Int(pointer.take(UInt32.self)))
    for _ in 0..<Int(pointer.take(UInt32.self) & ~Self.wholeRow) {
      let head = pointer.take(UInt32.self)
      let value: PackedValue
      switch Int32(head >> 1 & 7) {
      case SQLITE_INTEGER: value = .integer(pointer.take(Int64.self))
      case SQLITE_FLOAT: value = PackedValue(real: Double(bitPattern: pointer.take(UInt64.self)))
      case SQLITE_TEXT:
        value = PackedValue(text: pointer.take(Int(pointer.take(UInt32.self))).bindMemory(to: UInt8.self))
      case SQLITE_BLOB: value = .blob(pointer.take(Int(pointer.take(UInt32.self))))
      default: value = .null
      }
      try body(Int(head >> 4), value)
    }
  }

  /// Compares a note of a whole row with the row that a query is at, whose columns begin with the given one, and adds
  /// the values that differ to `changes`.
  func addChanges(
    ofWholeRowAt position: UInt32, _ query: SQLStatement, from first: Int, to changes: inout [RowChange]
  ) throws {
    var pointer = self.pointer(position) + InlineClock.size
    _ = pointer.take(Int(pointer.take(UInt32.self)))
    for _ in 0..<Int(pointer.take(UInt32.self) & ~Self.wholeRow) {
      let head = pointer.take(UInt32.self)
      let (place, type) = (Int(head >> 4), Int32(head >> 1 & 7))
      let start = pointer
      let isSame: Bool
      switch type {
      case SQLITE_INTEGER:
        let number = pointer.take(Int64.self)
        isSame = query.type(first + place) == type && query.int64(first + place) == number
      case SQLITE_FLOAT:
        let number = Double(bitPattern: pointer.take(UInt64.self))
        isSame = query.type(first + place) == type && query.double(first + place) == number
      case SQLITE_TEXT, SQLITE_BLOB:
        let count = Int(pointer.take(UInt32.self))
        let bytes = pointer
        pointer += count
        isSame =
          query.type(first + place) == type
          && query.withBlob(first + place) { other in
            other.count == count && (count == 0 || other.baseAddress.map { memcmp($0, bytes, count) == 0 } ?? false)
          }
      default: isSame = query.type(first + place) == type
      }
      guard !isSame else { continue }
      var value = start
      changes.append(
        RowChange(place: place, old: try self.value(type, isSpilled: false, &value), new: query.value(first + place)))
    }
  }

  private func value(_ type: Int32, isSpilled: Bool, _ pointer: inout UnsafeRawPointer) throws -> Value {
    switch type {
    case SQLITE_INTEGER: return .integer(pointer.take(Int64.self))
    case SQLITE_FLOAT: return Value(real: Double(bitPattern: pointer.take(UInt64.self)))
    case SQLITE_TEXT, SQLITE_BLOB:
      let count = Int(pointer.take(UInt32.self))
      guard isSpilled else {
        let bytes = UnsafeRawBufferPointer(start: pointer, count: count)
        pointer += count
        return bytes.withMemoryRebound(to: UInt8.self) { Self.value($0, isText: type == SQLITE_TEXT) }
      }
      let bytes = try spilled(count, at: Int(pointer.take(Int64.self)))
      return bytes.withUnsafeBufferPointer { Self.value($0, isText: type == SQLITE_TEXT) }
    default: return .null
    }
  }

  private static func value(_ bytes: UnsafeBufferPointer<UInt8>, isText: Bool) -> Value {
    (isText ? String(valid: bytes).map(Value.text) : nil) ?? .blob(Array(bytes))
  }

  private func spilled(_ count: Int, at offset: Int) throws -> [UInt8] {
    guard let file, fseek(file, offset, SEEK_SET) == 0 else { throw POSIXError(.EIO) }
    return try [UInt8](unsafeUninitializedCapacity: count) { buffer, used in
      used = fread(buffer.baseAddress, 1, count, file)
      guard used == count else { throw POSIXError(.EIO) }
    }
  }
}

extension UnsafeMutableRawPointer {
  fileprivate mutating func put(_ bytes: UnsafeRawBufferPointer) {
    if let base = bytes.baseAddress { copyMemory(from: base, byteCount: bytes.count) }
    self += bytes.count
  }

  fileprivate mutating func put<Number: FixedWidthInteger>(_ number: Number) {
    withUnsafeBytes(of: number) { put($0) }
  }
}

extension UnsafeRawPointer {
  fileprivate mutating func take<Number: FixedWidthInteger>(_ type: Number.Type) -> Number {
    defer { self += MemoryLayout<Number>.size }
    return loadUnaligned(as: type)
  }

  fileprivate mutating func take(_ count: Int) -> UnsafeRawBufferPointer {
    defer { self += count }
    return UnsafeRawBufferPointer(start: self, count: count)
  }
}
