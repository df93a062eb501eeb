import TallyCRDT
import Testing

/// Vectors of the reference implementation (github.com/veorq/SipHash, `vectors.h`): key 00 01 … 0f, message 00 01 ….
@Suite struct SipHashTests {
  static let narrow: [(length: Int, hash: UInt64)] = [
    (0, 0x726F_DB47_DD0E_0E31), (1, 0x74F8_39C5_93DC_67FD), (2, 0x0D6C_8009_D9A9_4F5A), (3, 0x8567_6696_D7FB_7E2D),
    (7, 0xAB02_00F5_8B01_D137), (8, 0x93F5_F579_9A93_2462), (15, 0xA129_CA61_49BE_45E5),
    (63, 0x958A_324C_EB06_4572),
  ]

  private func hash(_ message: [UInt8], wide: Bool = false) -> SipHash {
    var hash = SipHash(wide: wide)
    message.withUnsafeBytes { hash.combine(bytes: $0) }
    return hash
  }

  private func message(_ length: Int) -> [UInt8] { (0..<length).map { UInt8($0) } }

  @Test func narrowHashesAreThoseOfTheReference() {
    for vector in Self.narrow { #expect(hash(message(vector.length)).finalized() == vector.hash, "\(vector.length)") }
  }

  @Test func wideHashesAreThoseOfTheReference() {
    let vectors: [(length: Int, bytes: String)] = [
      (0, "a3817f04ba25a8e66df67214c7550293"), (1, "da87c1d86b99af44347659119b22fc45"),
      (2, "8177228da4a45dc7fca38bdef60affe4"),
    ]
    for vector in vectors {
      let (first, second) = hash(message(vector.length), wide: true).finalizedWide()
      #expect(Hexadecimal.text(first.byteSwapped) + Hexadecimal.text(second.byteSwapped) == vector.bytes)
    }
  }

  /// The reference implementation, compiled with `cROUNDS` 1 and `dROUNDS` 3.
  @Test func shorterHashesAreThoseOfTheReference() {
    let narrow: [(length: Int, hash: UInt64)] = [
      (0, 0xABAC_0158_050F_C4DC), (1, 0xC9F4_9BF3_7D57_CA93), (2, 0x82CB_9B02_4DC7_D44D), (3, 0x8BF8_0AB8_E7DD_F7FB),
      (7, 0xD392_7D98_9BB1_1140), (8, 0x3690_9511_8D29_9A8E), (15, 0xD320_D86D_2A51_9956),
      (63, 0x9D19_9062_B7BB_B3A8),
    ]
    for (length, expected) in narrow {
      var hash = SipHash13()
      message(length).withUnsafeBytes { hash.combine(bytes: $0) }
      #expect(hash.finalized() == expected, "\(length)")
    }
    let wide: [(length: Int, bytes: String)] = [
      (0, "e77ebcb22788a5befd62db6add303001"), (1, "fc6f370460d3eda85e0573cc2b2ff063"),
      (7, "1084b923f2aae0c3a62f2ec80848ab77"), (8, "aa12fee1d5e3dab4724f16ab35f9c799"),
      (63, "4c5800e34efe426f079f6b0aa75260ad"),
    ]
    for (length, expected) in wide {
      var hash = SipHash13(wide: true)
      message(length).withUnsafeBytes { hash.combine(bytes: $0) }
      let (first, second) = hash.finalizedWide()
      #expect(Hexadecimal.text(first.byteSwapped) + Hexadecimal.text(second.byteSwapped) == expected, "\(length)")
    }
  }

  @Test func bytesWordsAndBuffersFeedTheSame() {
    for length in 0..<40 {
      let message = message(length)
      var byBytes = SipHash()
      for byte in message { byBytes.combine(byte: byte) }
      #expect(byBytes.finalized() == hash(message).finalized())
    }
    // Each length behind each number of bytes that are held already.
    for held in 0..<8 {
      for length in 0..<24 {
        let (first, second) = (message(held), message(length))
        var byParts = hash(first)
        second.withUnsafeBytes { byParts.combine(bytes: $0) }
        #expect(byParts.finalized() == hash(first + second).finalized(), "\(length) behind \(held)")
      }
    }
    for offset in 0..<9 {
      var byWord = SipHash()
      var byBytes = SipHash()
      for byte in message(offset) {
        byWord.combine(byte: byte)
        byBytes.combine(byte: byte)
      }
      byWord.combine(word: 0x0807_0605_0403_0201)
      for byte in UInt8(1)...8 { byBytes.combine(byte: byte) }
      #expect(byWord.finalized() == byBytes.finalized(), "at offset \(offset)")
    }
  }

  @Test func textsHashAsTheirUTF8() {
    #expect(SipHash.hash("é") == hash([0xC3, 0xA9]).finalized())
    #expect(SipHash.hash("") == Self.narrow[0].hash)
  }
}
