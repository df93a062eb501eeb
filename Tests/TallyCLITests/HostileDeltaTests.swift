import Testing

/// A delta is joined whole or not at all, and bytes that lie are found out.
@Suite struct HostileDeltaTests {
  let bench: Bench
  let delta: [UInt8]

  init() throws {
    bench = try Bench("a", "b")
    let people = (1...40).map { "SBPerson|~|p\($0) name='Person number \($0)'\n" }.joined()
    try bench.done("put", "a", "-", input: people + "SBGame|~|go name=Go owner=SBPerson|~|p1\n")
    try bench.done("delta", "a", "-o", "delta")
    delta = try bench.bytes("delta")
  }

  private func expectRefused(_ bytes: [UInt8], _ status: Int32 = 65, at location: SourceLocation = #_sourceLocation)
    throws
  {
    try bench.write(bytes, to: "hostile")
    try bench.refused(status, ["apply", "b", "hostile"], at: location)
  }

  @Test func aTruncatedDeltaIsRefused() throws {
    try bench.unchanged("b") {
      for count in Set([0, 1, 4, 20, delta.count / 2, delta.count - 9, delta.count - 1]).sorted() {
        try expectRefused(Array(delta.prefix(count)))
      }
    }
  }

  /// The first four bytes say what it is; another version there is another answer.
  @Test func aFlippedBitIsFoundWhereverItIs() throws {
    try bench.unchanged("b") {
      for offset in stride(from: 4, to: delta.count, by: max(1, delta.count / 24)) {
        var bytes = delta
        bytes[offset] ^= 1 << UInt8(offset % 8)
        try expectRefused(bytes)
      }
    }
  }

  @Test func whatFollowsADeltaIsRefused() throws {
    try bench.unchanged("b") {
      try expectRefused(delta + [0])
      try expectRefused(delta + delta)
    }
  }

  @Test func aNewerWireFormatIs78() throws {
    var bytes = delta
    bytes[2] = 9
    try expectRefused(bytes, 78)
  }

  @Test func aBombBurstsEarly() throws {
    let header = try Self.header(in: bench)
    let frame = Self.zeros(blocks: 512)
    try bench.unchanged("b") {
      // It says what it is: 64 MiB of nothing.
      try expectRefused(header + Self.varint(64 << 21 | 1) + Self.varint(UInt64(frame.count)) + frame)
      // It says less than it is.
      try expectRefused(header + Self.varint(100 << 1 | 1) + Self.varint(UInt64(frame.count)) + frame)
      // It says more than anybody may.
      try expectRefused(header + Self.varint(1 << 41 | 1) + Self.varint(UInt64(frame.count)) + frame)
      try expectRefused(header + Self.varint(UInt64.max) + Self.varint(UInt64.max))
      // It promises bytes that never come.
      try expectRefused(header + Self.varint(64 << 21 | 1) + Self.varint(64 << 20))
    }
  }

  @Test func aTornPipeAppliesNothing() throws {
    try bench.unchanged("b") {
      let outcome = try bench.shell("head -c 60 delta | \"$0\" apply b -")
      #expect(outcome.status == 65 && outcome.errors.contains("truncated"))
    }
  }

  /// The header of a delta of nothing.
  static func header(in bench: Bench) throws -> [UInt8] {
    try bench.done("new", "empty", "--schema", "schema.json")
    try bench.done("delta", "empty", "-o", "nothing")
    // An empty delta is its header, the mark of the end and the checksum.
    return Array(try bench.bytes("nothing").dropLast(9))
  }

  static func varint(_ value: UInt64) -> [UInt8] {
    var (rest, bytes) = (value, [UInt8]())
    while rest >= 0x80 {
      bytes.append(UInt8(rest & 0x7F) | 0x80)
      rest >>= 7
    }
    return bytes + [UInt8(rest)]
  }

  /// A zstd frame of blocks that each repeat one byte 128 Ki times (RFC 8878, 3.1.1.2): four bytes a block.
  static func zeros(blocks: Int) -> [UInt8] {
    var frame: [UInt8] = [0x28, 0xB5, 0x2F, 0xFD, 0x00, 0x58]
    for index in 1...blocks {
      let head = 131_072 << 3 | 1 << 1 | (index == blocks ? 1 : 0)
      frame += [UInt8(head & 0xFF), UInt8(head >> 8 & 0xFF), UInt8(head >> 16 & 0xFF), 0]
    }
    return frame
  }
}
