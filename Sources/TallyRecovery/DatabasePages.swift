import TallyStore

/// An SQLite file by its pages; format: https://sqlite.org/fileformat.html.
struct DatabasePages {
  let bytes: [UInt8]
  let size: Int
  var count: Int { bytes.count / size }
  /// Pages that others point to.
  private let children: Set<Int>
  /// Whether some pages are no tree's and map pointers to pages, as with `auto_vacuum`. Then page 3 begins a table, and
  /// page 2 says so in its first five bytes; no other page of a store begins with them.
  private let keepsMap: Bool

  init(_ bytes: [UInt8]) {
    self.bytes = bytes
    let claimed = bytes.count > 17 ? Int(bytes[16]) << 8 | Int(bytes[17]) : 0
    let isPower = claimed >= 512 && claimed & (claimed - 1) == 0
    let size = claimed == 1 ? 65_536 : isPower ? claimed : 4096
    self.size = size
    keepsMap = bytes.count >= 2 * size && bytes[size..<size + 5].elementsEqual([1, 0, 0, 0, 0])
    var children = Set<Int>()
    func number(_ place: Int, _ width: Int) -> Int {
      bytes[place..<min(place + width, bytes.count)].reduce(0) { $0 << 8 | Int($1) }
    }
    for page in 0..<bytes.count / size {
      let head = page * size + (page == 0 ? 100 : 0)
      guard bytes[head] == 0x05 || bytes[head] == 0x02, !(keepsMap && Self.isMap(page, size)) else { continue }
      children.insert(number(head + 8, 4))
      let limit = (page + 1) * size
      for cell in 0..<min(number(head + 3, 2), size / 6) {
        let place = page * size + number(min(head + 12 + 2 * cell, limit - 2), 2)
        if place + 4 <= limit { children.insert(number(place, 4)) }
      }
    }
    self.children = children
  }

  private func kind(_ page: Int) -> UInt8? {
    let head = page * size + (page == 0 ? 100 : 0)
    return page >= 0 && page < count && !isMap(page) ? bytes[head] : nil
  }

  /// Whether a page maps pointers: the second, and each behind as many as one has room for, at five bytes each.
  private func isMap(_ page: Int) -> Bool { keepsMap && Self.isMap(page, size) }

  private static func isMap(_ page: Int, _ size: Int) -> Bool { page % (size / 5 + 1) == 1 }

  func isLeaf(_ page: Int) -> Bool { kind(page) == 0x0D }

  /// Whether a page, by its number from 1, may be where a table or index begins.
  func isRoot(_ number: Int) -> Bool {
    guard number > 1, let kind = kind(number - 1) else { return false }
    return [0x02, 0x05, 0x0A, 0x0D].contains(kind) && !children.contains(number)
  }

  /// The first page of a file without tables.
  var emptyFirstPage: [UInt8] {
    var page = [UInt8](repeating: 0, count: size)
    func put(_ value: Int, _ place: Int, _ width: Int) {
      for index in 0..<width { page[place + index] = UInt8(truncatingIfNeeded: value >> (8 * (width - 1 - index))) }
    }
    page.replaceSubrange(0..<16, with: Array("SQLite format 3\0".utf8))
    put(size == 65_536 ? 1 : size, 16, 2)
    for (place, value) in [18: 1, 19: 1, 21: 64, 22: 32, 23: 32] { put(value, place, 1) }
    for (place, value) in [24: 1, 28: count, 40: 1, 44: 4, 56: 1, 60: Format.version, 92: 1, 96: 3_040_001] {
      put(value, place, 4)
    }
    put(Format.applicationID, 68, 4)
    put(0x0D, 100, 1)
    put(size == 65_536 ? 0 : size, 105, 2)
    return page
  }

  /// A record by the serial types of its columns.
  struct Record {
    var types: [Int]
    /// The first two columns, where they are texts.
    var texts: [String?] = []
  }

  /// The records of the leftmost leaf under a root.
  /// - Returns: whether the root is a table's, and not an index's; empty where nothing can be read.
  func firstRecords(under root: Int) -> (isTable: Bool, records: [Record]) {
    var page = root - 1
    for _ in 0..<20 {
      guard let kind = kind(page), [0x02, 0x05].contains(kind) else { break }
      let cell = page * size + (Int(bytes[page * size + 12]) << 8 | Int(bytes[page * size + 13]))
      guard cell + 4 <= (page + 1) * size else { break }
      page = bytes[cell..<cell + 4].reduce(0) { $0 << 8 | Int($1) } - 1
    }
    return (isLeaf(page), cells(on: page).compactMap { record(at: $0, (page + 1) * size) })
  }

  private func record(at place: Int, _ end: Int) -> Record? {
    var next = place
    guard let length = varint(&next, end), place + length <= end else { return nil }
    var record = Record(types: [])
    while next < place + length { record.types.append(varint(&next, place + length) ?? 0) }
    for type in record.types.prefix(2) where type >= 12 {
      let count = (type - 12) / 2
      guard next + count <= end else { break }
      record.texts.append(type % 2 == 1 ? String(validating: bytes[next..<next + count], as: UTF8.self) : nil)
      next += count
    }
    return record
  }

  /// Entries of the list that stand anywhere on a page: a record of three texts, a number, and a text or nothing.
  func entries(on page: Int) -> [SchemaSalvage.Entry] {
    var entries: [SchemaSalvage.Entry] = []
    let (start, end) = (page * size, (page + 1) * size)
    let cells = cells(on: page)
    for place in start..<end - 16 where (6...12).contains(bytes[place]) {
      guard var entry = entry(at: place, end) else { continue }
      entry.isCell = cells.contains(place)
      entries.append(entry)
    }
    return entries
  }

  /// Returns the offsets at which the records of a leaf's cells begin.
  private func cells(on page: Int) -> Set<Int> {
    guard let kind = kind(page), [0x0A, 0x0D].contains(kind) else { return [] }
    let (head, end) = (page * size + (page == 0 ? 100 : 0), (page + 1) * size)
    let count = min(Int(bytes[head + 3]) << 8 | Int(bytes[head + 4]), (end - head - 8) / 2)
    var cells = Set<Int>()
    for cell in 0..<count {
      let pointer = head + 8 + 2 * cell
      var place = page * size + (Int(bytes[pointer]) << 8 | Int(bytes[pointer + 1]))
      guard place < end, varint(&place, end) != nil else { continue }
      // A table's cell has the rowid as well.
      if kind == 0x0A || varint(&place, end) != nil { cells.insert(place) }
    }
    return cells
  }

  private func entry(at place: Int, _ end: Int) -> SchemaSalvage.Entry? {
    var next = place
    guard let length = varint(&next, end), place + length <= end else { return nil }
    let body = place + length
    var types: [Int] = []
    while next < body, types.count < 6 { types.append(varint(&next, body) ?? 0) }
    // The first text is table, index, view or trigger.
    guard types.count == 5, next == body, [21, 23, 27].contains(types[0]), types[1] >= 15, types[1] % 2 == 1,
      types[2] >= 15, types[2] % 2 == 1, (1...6).contains(types[3]) || (8...9).contains(types[3]),
      types[4] == 0 || types[4] >= 13 && types[4] % 2 == 1
    else { return nil }
    next = body
    func text(_ type: Int) -> String? {
      let count = (type - 13) / 2
      guard next + count <= end else { return nil }
      defer { next += count }
      return String(validating: bytes[next..<next + count], as: UTF8.self)
    }
    guard let written = text(types[0]),
      let type = SchemaSalvage.types.first(where: { $0 == written || $0.isOneBit(from: written) }),
      let name = text(types[1]), let table = text(types[2])
    else { return nil }
    let width = [1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8][types[3]] ?? 0
    guard next + width <= end else { return nil }
    let root = types[3] == 9 ? 1 : bytes[next..<next + width].reduce(0) { ($0 & 0xFFFF_FFFF) << 8 | Int($1) }
    next += width
    guard types[4] != 0 else { return SchemaSalvage.Entry(type: type, name: name, table: table, root: root) }
    guard let sql = text(types[4]) else { return nil }
    return SchemaSalvage.Entry(type: type, name: name, table: table, root: root, sql: sql)
  }

  private func varint(_ place: inout Int, _ end: Int) -> Int? {
    var value = 0
    for _ in 0..<4 {
      guard place < end else { return nil }
      defer { place += 1 }
      value = value << 7 | Int(bytes[place] & 0x7F)
      if bytes[place] & 0x80 == 0 { return value }
    }
    return nil
  }
}
