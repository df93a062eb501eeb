import TallyCRDT
import TallyWire

extension ReplicaID {
  /// Sixteen bytes; what is missing of them is zero.
  package init(_ bytes: [UInt8]) {
    func half(_ range: Range<Int>) -> UInt64 {
      range.reduce(0) { $0 << 8 | UInt64($1 < bytes.count ? bytes[$1] : 0) }
    }
    self.init(high: half(0..<8), low: half(8..<16))
  }

  /// The sixteen bytes that the wire has.
  package var bytes: [UInt8] {
    var writer = ByteWriter()
    writer.replica(self)
    return writer.bytes
  }
}
