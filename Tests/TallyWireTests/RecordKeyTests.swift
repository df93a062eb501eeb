import TallyCRDT
import Testing

@testable import TallyWire

/// A key is sixteen bytes only if they come back as the very same text.
@Suite struct RecordKeyTests {
  @Test func onlyWhatComesBackIsAUUID() throws {
    let uuid = Array("386c1919-5f25-4be2-975f-5b34506c51db".utf8)
    for place in uuid.indices {
      for byte in UInt8(0x20)...0x7E {
        var key = uuid
        key[place] = byte
        guard let name = try? AnyRecordName("Game|~|" + String(decoding: key, as: UTF8.self)) else { continue }
        let isDigit = (0x30...0x39).contains(byte) || (0x61...0x66).contains(byte)
        let isUUID = uuid[place] == 0x2D ? byte == 0x2D : isDigit
        #expect(RecordKey(name).isText != isUUID, "\(name)")
        var writer = ByteWriter()
        writer.key(RecordKey(name))
        let back = try writer.bytes.withUnsafeBytes { raw in
          var reader = ByteReader(raw)
          return try reader.recordName(type: "Game", isText: !isUUID)
        }
        #expect(back.1 == name && back.0 == RecordKey(name))
      }
    }
  }
}
