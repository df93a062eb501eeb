import TallyCRDT
import TallyWire
import Testing

/// Places in ordered relationships on the wire, which version 3 has.
@Suite struct PlacedLinkTests {
  private let source: AnyRecordName
  private let target: AnyRecordName
  private let position: ListPosition
  private let add = Golden.stamp(Golden.first, 3, 1_700_000_000_000)
  private let move = Golden.stamp(Golden.second, 1, 1_700_000_000_005)
  private let limits = [Dot(replica: Golden.first, sequence: 300), Dot(replica: Golden.second, sequence: 1)]

  init() throws {
    source = try AnyRecordName("SBGame|~|386c1919-5f25-4be2-975f-5b34506c51db")
    target = try AnyRecordName("SBGame|~|0f1e2d3c-4b5a-4978-8695-a4b3c2d1e0ff")
    position = try #require(ListPosition(bytes: [0x12, 0x34]))
  }

  private func block(_ element: ORSetElement) -> DeltaBlock {
    let item = DeltaBlock.Link(source: source, target: target, element: element)
    return DeltaBlock(links: [.init(source: "SBGame", relationship: "then", target: "SBGame", items: [item])])
  }

  private func element(_ tags: [Stamp], _ place: Stamp?) -> ORSetElement {
    var element = ORSetElement()
    for tag in tags { element.add(tag) }
    element.place = place.map { ORSetElement.Place(stamp: $0, position: position) }
    return element
  }

  private func bytes(_ element: ORSetElement) -> [UInt8] { block(element).encoded(replicas: limits.map(\.replica)) }

  private func read(_ bytes: [UInt8], version: UInt8 = 3) throws(WireError) -> DeltaBlock {
    try DeltaBlock(live: bytes, limits: limits, version: version)
  }

  /// Made by hand of Docs/WireFormat.md.
  @Test func theBytesAreThoseOfTheDescription() throws {
    let ends = "386c19195f254be2975f5b34506c51db0f1e2d3c4b5a49788695a4b3c2d1e0ff"
    // One tag; the place has its stamp: flags 8, 16 and 32, stamp 0, two bytes.
    #expect(Hexadecimal.text(bytes(element([add], add))).hasSuffix("0138\(ends)00021234"))
    // A place of another stamp, which is the second.
    #expect(Hexadecimal.text(bytes(element([add], move))).hasSuffix("0118\(ends)0001021234"))
    // No tag.
    #expect(Hexadecimal.text(bytes(element([], move))).hasSuffix("0110\(ends)0000021234"))
    // Two tags.
    #expect(Hexadecimal.text(bytes(element([add, move], move))).hasSuffix("0110\(ends)020000010001021234"))
  }

  @Test func everyFormReadsBack() throws {
    for tags in [[], [add], [move], [add, move]] {
      for place in [add, move] {
        let element = element(tags, place)
        #expect(try read(bytes(element)) == block(element))
      }
    }
  }

  @Test func withoutAPlaceBothVersionsHaveTheSameBytes() throws {
    let bytes = bytes(element([add], nil))
    #expect(try read(bytes, version: 2) == read(bytes, version: 3))
  }

  @Test func theSecondVersionHasNoPlaces() throws {
    for tags in [[], [add]] {
      #expect(throws: WireError.self) { try read(bytes(element(tags, move)), version: 2) }
    }
    var written: [UInt8] = []
    let header = DeltaHeader(base: StateVector(), target: Golden.plainHeader.target, version: 2)
    var writer = try DeltaWriter(header: header) { written += $0 }
    let error = #expect(throws: WireError.self) { try writer.append(block(element([add], move))) }
    #expect(error?.code == .unsupportedVersion)
  }

  @Test func anyOtherFormIsRefused() throws {
    let good = bytes(element([add], add))
    // Flags, two names of sixteen bytes, stamp, length, two bytes.
    let flags = good.count - 1 - 32 - 1 - 1 - 2
    #expect(good[flags] == 0x38)
    func refused(_ change: (inout [UInt8]) -> Void) {
      var bytes = good
      change(&bytes)
      #expect(throws: WireError.self) { try read(bytes) }
    }
    refused { $0[flags] = 0x28 }
    refused { $0[flags] = 0x30 }
    refused { $0[flags] = 0x20 }
    refused { $0[flags] = 0x78 }
    refused { $0[flags] = 0xB8 }
    // The stamp of the tag, spelt out.
    refused {
      $0[flags] = 0x18
      $0.insert(0, at: $0.count - 3)
    }
    refused { $0[$0.count - 3] = 0 }
    refused { $0[$0.count - 3] = 3 }
    refused { $0[$0.count - 3] = 1 }
    refused { $0.replaceSubrange(($0.count - 3)..., with: [0x81, 0x04] + Array(repeating: 7, count: 513)) }
    // No tag and no place.
    refused {
      $0[flags] = 0
      $0.replaceSubrange(($0.count - 4)..., with: [0])
    }
  }
}
