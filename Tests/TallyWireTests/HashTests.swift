import TallyTesting
import TallyWire
import Testing

/// The examples of FIPS 180-4 and RFC 6234.
@Suite struct HashTests {
  private func hex(_ bytes: [UInt8]) -> String {
    bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }

  @Test(arguments: [
    ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
    ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
    (
      "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
      "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
    ),
  ])
  func sha256IsThatOfTheStandard(text: String, hash: String) {
    #expect(hex(SHA256.hash(Array(text.utf8))) == hash)
  }

  @Test(arguments: [
    ("", "da39a3ee5e6b4b0d3255bfef95601890afd80709"), ("abc", "a9993e364706816aba3e25717850c26c9cd0d89d"),
    (
      "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", "84983e441c3bd26ebaae4aa1f95129e5e54670f1"
    ),
  ])
  func sha1IsThatOfTheStandard(text: String, hash: String) {
    #expect(hex(SHA1.hash(Array(text.utf8))) == hash)
  }

  @Test func aMillionLettersHashAsTheStandardSays() {
    let letters = [UInt8](repeating: UInt8(ascii: "a"), count: 1_000_000)
    #expect(hex(SHA256.hash(letters)) == "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0")
    #expect(hex(SHA1.hash(letters)) == "34aa973cd4c4daa4f61eeb2bdbad27316534016f")
  }

  @Test(arguments: [true, false])
  func aHashIsTheSameWithTheProcessorsInstructionsAndWithout(isPortable: Bool) {
    var hash = SHA256(isPortable: isPortable)
    hash.update([UInt8](repeating: UInt8(ascii: "a"), count: 1_000_000)[...])
    #expect(hex(hash.finalized()) == "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0")
    var random = SplitMix64(seed: 256)
    for count in 0..<300 {
      let bytes = (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
      var (one, other) = (SHA256(isPortable: isPortable), SHA256(isPortable: !isPortable))
      let place = Int.random(in: 0...count, using: &random)
      one.update(bytes[..<place])
      one.update(bytes[place...])
      other.update(bytes[...])
      #expect(one.finalized() == other.finalized(), "\(count) bytes, divided at \(place)")
    }
  }

  @Test func aHashInPiecesIsThatOfTheWhole() {
    let bytes = (0..<300).map { UInt8(truncatingIfNeeded: $0 &* 31) }
    for count in [0, 1, 31, 32, 55, 56, 63, 64, 65, 127, 128, 129, 300] {
      for size in [1, 3, 55, 64, 65, 200] {
        var hash = SHA256()
        var rest = bytes.prefix(count)
        while !rest.isEmpty {
          hash.update(rest.prefix(size))
          rest = rest.dropFirst(size)
        }
        #expect(hash.finalized() == SHA256.hash(Array(bytes.prefix(count))), "\(count) bytes, \(size) at a time")
      }
    }
  }
}
