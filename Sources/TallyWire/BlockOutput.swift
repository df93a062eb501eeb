import TallyCRDT

/// The destination of a block's bytes as they are made: one array, or a comparison with the bytes that they should be,
/// so that a large block is not in memory a second time.
struct BlockOutput {
  /// The bytes that were made last; all of them if nothing is compared.
  var writer = ByteWriter()
  /// Whether two items of the block have one key, which no reader accepts.
  var repeatsKey = false
  /// Whether the block has something that only version 3 of the format can say.
  var needsThirdVersion = false
  private var expected: UnsafeRawBufferPointer.SubSequence?
  private var hasDiffered = false

  init() {}

  init(comparingWith bytes: UnsafeRawBufferPointer) { expected = bytes[...] }

  /// Whether everything was as expected.
  var isSame: Bool {
    mutating get {
      flush()
      return !hasDiffered && expected?.isEmpty == true
    }
  }

  /// Makes room for a large piece, so that the array does not double. Making room for each of many small pieces would
  /// copy the array as often.
  mutating func reserve(_ count: Int) {
    guard expected == nil, count >= WireLimits.targetBlockBytes else { return }
    writer.bytes.reserveCapacity(writer.bytes.count + count + 1024)
  }

  mutating func append(_ bytes: [UInt8]) {
    guard expected != nil else { return writer.bytes.append(contentsOf: bytes) }
    flush()
    compare(bytes)
  }

  /// Lets go of what was made, if it only was to be compared.
  mutating func flush() {
    guard expected != nil, !writer.bytes.isEmpty else { return }
    compare(writer.bytes)
    writer.bytes.removeAll(keepingCapacity: true)
  }

  private mutating func compare(_ bytes: [UInt8]) {
    guard let rest = expected, !hasDiffered else { return }
    hasDiffered =
      rest.count < bytes.count
      || !bytes.withUnsafeBufferPointer { made in
        UnsafeRawBufferPointer(rebasing: rest.prefix(bytes.count)).bindMemory(to: UInt8.self).hasSameBytes(as: made)
      }
    expected = rest.dropFirst(bytes.count)
  }
}
