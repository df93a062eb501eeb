#if Spaces
  import Foundation

  @testable import TallySpaces

  /// A set of records as the model writes it, with what it means (Tests/Models/spacesets.py).
  struct ModelSet: Decodable {
    struct Meaning: Decodable, Equatable {
      var present, removed, excluded: [String]
      var open, used, closed, changes, keys, usable, heads, waiting: [Int]
      var kept: [String: [Int]]
    }

    /// An element of a record: a number, a name, or a list.
    enum Element: Decodable {
      case number(Int)
      case name(String)
      case list([Element])

      init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if let number = try? container.decode(Int.self) {
          self = .number(number)
        } else if let name = try? container.decode(String.self) {
          self = .name(name)
        } else {
          self = .list(try container.decode([Element].self))
        }
      }

      var number: Int { if case .number(let number) = self { number } else { -1 } }
      var name: String { if case .name(let name) = self { name } else { "" } }
      var list: [Element] { if case .list(let list) = self { list } else { [] } }
    }

    let records: [[Element]]
    let means: Meaning

    // MARK: In Swift

    /// A digest for a number, in another order in each set: the meaning must not depend on it.
    static func digest(_ number: Int, _ salt: Int) -> SpaceDigest {
      var random = SplitMix(seed: UInt64(number) << 20 ^ UInt64(salt))
      return SpaceDigest.of(
        random.next().bigEndianBytes + [UInt8](repeating: 0, count: 16) + UInt64(number).bigEndianBytes)
    }

    private static func number(_ digest: SpaceDigest) -> Int { digest.bytes.suffix(8).reduce(0) { $0 << 8 | Int($1) } }

    static func member(_ name: String) -> MemberID {
      MemberID.of(Array(name.utf8) + [UInt8](repeating: 0, count: 16 - name.utf8.count))
    }

    private static func name(_ member: MemberID) -> String {
      String(decoding: member.bytes.prefix { $0 != 0 }, as: UTF8.self)
    }

    private static let keys = SpaceRecord.PublicKeys(signing: digest(0, 0), sealing: digest(0, 0))
    static let genesis = SpaceRecord.Operation.genesis(.init(recovery: keys, name: ""))
    static func join(_ invitation: SpaceDigest) -> SpaceRecord.Operation {
      .join(.init(keys: keys, invitation: invitation, token: digest(0, 0), name: ""))
    }

    func records(_ salt: Int) -> [SpaceRecord] {
      records.map { row in
        let digest = { Self.digest($0, salt) }
        let operation: SpaceRecord.Operation =
          switch row[1].name {
          case "genesis": Self.genesis
          case "invite": .invite(.init(keys: Self.keys, use: .oneDevice))
          case "join": Self.join(digest(row[4].number))
          case "close": .close(invitation: digest(row[4].number))
          case "remove":
            .remove(
              .init(
                devices: row[4].list.map { Self.member($0.name) }, kept: row[5].list.map { digest($0.number) }))
          case "key": .key(.init(key: digest(row[4].number), receivers: []))
          case "wrap": .wrap(under: digest(row[4].number), [])
          default:
            .give(
              key: digest(row[4].number), .init(receiver: Self.member("any"), encapsulated: [], sealed: []))
          }
        return SpaceRecord(
          id: digest(row[0].number), author: Self.member(row[2].name),
          parents: row[3].list.map { digest($0.number) }.sorted(), operation: operation)
      }
    }

    /// What the records mean, in the model's words.
    func meaning(_ salt: Int) -> Meaning {
      let membership = Membership(of: records(salt))
      let names = { (members: Set<MemberID>) in members.map(Self.name).sorted() }
      let numbers = { (digests: Set<SpaceDigest>) in digests.map(Self.number).sorted() }
      return Meaning(
        present: names(membership.present), removed: names(membership.removed), excluded: names(membership.excluded),
        open: numbers(membership.open), used: numbers(membership.used), closed: numbers(membership.closed),
        changes: numbers(membership.changes), keys: numbers(Set(membership.keys.keys)),
        usable: numbers(membership.usable), heads: numbers(membership.heads), waiting: numbers(membership.waiting),
        kept: Dictionary(uniqueKeysWithValues: membership.kept.map { (Self.name($0), numbers($1)) }))
    }
  }
#endif
