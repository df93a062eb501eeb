import TallyCRDT
import TallyTesting
import TallyWire
import Testing

/// Headers of a mailbox's files that name another file for their vectors: section 3.1 of the wire format.
@Suite struct RelativeHeaderTests {
  private static let ann = ReplicaID(high: 0xA0A1_A2A3_A4A5_A6A7, low: 0xA8A9_AAAB_ACAD_AEAF)
  private static let ben = ReplicaID(high: 0xB0B1_B2B3_B4B5_B6B7, low: 0xB8B9_BABB_BCBD_BEBF)
  private static let cid = ReplicaID(high: 0xC0C1_C2C3_C4C5_C6C7, low: 0xC8C9_CACB_CCCD_CECF)
  private static let reference = RelativeHeader.Reference(
    writer: ann, sequence: 200, check: 0x0102_0304_0506_0708, kind: 1)

  private static func vector(_ a: UInt64, _ b: UInt64, _ c: UInt64) -> StateVector {
    StateVector([(ann, a), (ben, b), (cid, c)].filter { $0.1 > 0 })
  }

  private static func decoded(_ bytes: [UInt8]) throws -> RelativeHeader {
    guard case .relative(let header) = try #require(try MailboxHeader.decode(bytes)).header else {
      throw WireError(.malformed, "the header is an ordinary one")
    }
    return header
  }

  /// The bytes of the page: the reference, the hash of its vector (which the peer of `Tests/Stranger` computed), then
  /// what differs from that vector, then what every header ends with.
  private static let bytes = [UInt8](
    [
      [0x54, 0x4C, 3, 5], Array(0xA0...0xAF), [0xC8, 1], [1, 2, 3, 4, 5, 6, 7, 8], [1],
      [0x52, 0x26, 0x0C, 0x29, 0x3C, 0xB0, 0xC6, 0xCA], [2], Array(0xB0...0xBF), [5, 3], Array(0xC0...0xCF), [7, 0],
      [0, 0, 0, 0, 0, 0, 0, 1], [0, 0, 0, 0, 0, 0, 0, 2],
    ].joined())
  private static let header = DeltaHeader(
    base: vector(200, 5, 7), target: vector(200, 8, 7), fingerprint: Fingerprint(first: 1, second: 2), version: 3)
  private static let known = vector(200, 5, 0)

  @Test func bytesAreThoseOfThePage() throws {
    let relative = try #require(RelativeHeader(Self.header, since: Self.known, of: Self.reference))
    #expect(relative.bytes == Self.bytes && relative.byteCount == Self.bytes.count)
    let (header, length) = try #require(try MailboxHeader.decode(Self.bytes + [1, 2, 3]))
    #expect(header == .relative(relative) && length == Self.bytes.count)
    #expect(try relative.resolved(by: Self.known) == Self.header)
    for count in Self.bytes.indices { #expect(try MailboxHeader.decode(Array(Self.bytes[..<count])) == nil) }
  }

  @Test func anOrdinaryHeaderIsReadAsOne() throws {
    let (header, length) = try #require(try MailboxHeader.decode(Self.header.bytes + [9]))
    #expect(header == .ordinary(Self.header) && length == Self.header.bytes.count)
  }

  /// Whatever the vectors are: what is named says the same as what is written out.
  @Test(arguments: 0..<200 as Range<UInt64>) func whatIsResolvedIsWhatWasMeant(_ seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    let replicas = (0..<20).map { ReplicaID(high: UInt64($0) / 3, low: UInt64($0)) }
    func grown(_ vector: StateVector) -> StateVector {
      var vector = vector
      for replica in replicas where random.chance(33) { vector[replica] += UInt64(random.below(300)) }
      return vector
    }
    let known = grown(StateVector())
    let base = grown(known)
    let zone = seed % 3 == 0 ? ZoneID(high: 1, low: 2) : .default
    let header = DeltaHeader(
      zone: zone, base: base, target: grown(base), fingerprint: seed % 2 == 0 ? Fingerprint() : nil, version: 3)
    let relative = try #require(RelativeHeader(header, since: known, of: Self.reference))
    #expect(try Self.decoded(relative.bytes) == relative)
    #expect(try relative.resolved(by: known) == header)
    #expect(relative.isForm(of: header))
    // What the base does not cover cannot be named.
    var more = known
    more[replicas[3]] = base[replicas[3]] + 1
    #expect(RelativeHeader(header, since: more, of: Self.reference) == nil)
  }

  @Test func anotherHeaderIsNotTakenForIt() throws {
    let relative = try Self.decoded(Self.bytes)
    var others = [Self.header, Self.header, Self.header, Self.header]
    others[0].target[Self.ben] += 1
    others[1].fingerprint = nil
    others[2].zone = ZoneID(high: 1, low: 1)
    others[3] = DeltaHeader(base: Self.vector(199, 5, 7), target: Self.vector(200, 8, 7), version: 3)
    for other in others { #expect(!relative.isForm(of: other), "\(other)") }
    #expect(!relative.isForm(of: DeltaHeader(base: Self.vector(200, 5, 6), target: Self.vector(200, 8, 6), version: 3)))
    #expect(!relative.isForm(of: DeltaHeader(base: Self.vector(200, 4, 7), target: Self.vector(200, 7, 7), version: 3)))
  }

  @Test func whatNoWriterWritesIsRefused() throws {
    func code(_ change: (inout [UInt8]) -> Void) -> WireError.Code? {
      var bytes = Self.bytes
      change(&bytes)
      do {
        _ = try MailboxHeader.decode(bytes)
        return nil
      } catch {
        return error.code
      }
    }
    let first = Self.bytes.count - 16 - 2 * 18
    #expect(code { $0[3] = 13 } == .unsupportedVersion)
    #expect(code { $0[2] = 4 } == .unsupportedVersion)
    // Twice the same replica, or in the wrong order.
    #expect(code { $0.replaceSubrange(first + 18..<first + 34, with: $0[first..<first + 16]) } == .malformed)
    #expect(code { $0[first] = 0xFF } == .malformed)
    // A sequence of 0, and one beyond all.
    #expect(code { ($0[first + 16], $0[first + 17]) = (0, 0) } == .malformed)
    let most = Array(repeating: UInt8(0xFF), count: 8) + [0x7F]
    #expect(code { $0.replaceSubrange(first + 16..<first + 17, with: most) } == .malformed)
    // Numbers that are not in their shortest form, or too large.
    #expect(code { $0.replaceSubrange(20..<22, with: [0x88, 0]) } == .malformed)
    #expect(code { $0.replaceSubrange(20..<22, with: Array(repeating: 0xFF, count: 9) + [1]) } == .malformed)
    #expect(code { $0.replaceSubrange(first - 1..<first, with: [0xFF, 0xFF, 7]) } == .limitExceeded)
  }

  /// What is listed must differ from the vector, and not be behind it.
  @Test func onlyWhatHasChangedIsListed() throws {
    let relative = try Self.decoded(Self.bytes)
    #expect(relative.vectorHash == Self.known.sipHash)
    for vector in [Self.vector(200, 6, 0), Self.vector(200, 8, 0), Self.vector(200, 5, 7), Self.vector(200, 5, 8)] {
      #expect { try relative.resolved(by: vector) } throws: { ($0 as? WireError)?.code == .malformed }
    }
    let many = StateVector((0..<UInt64(WireLimits.replicas)).map { (ReplicaID(high: 0, low: $0), 1) })
    #expect { try relative.resolved(by: many) } throws: { ($0 as? WireError)?.code == .limitExceeded }
  }

  /// Without the vector it is known whether anything in the delta is new.
  @Test func whatIsInItIsKnownWithoutTheVector() throws {
    let relative = try Self.decoded(Self.bytes)
    #expect(relative.isCovered(by: Self.vector(0, 8, 0)) && relative.isCovered(by: Self.vector(0, 9, 1)))
    #expect(!relative.isCovered(by: Self.vector(300, 7, 300)))
  }

  /// Only a mailbox knows the file that is named.
  @Test func elsewhereItIsRefusedByName() throws {
    let error = #expect(throws: WireError.self) { try DeltaReader(Self.bytes) }
    #expect(error?.code == .unsupportedVersion && error?.message.contains("mailbox") == true)
  }
}
