import Foundation
import Tally
import Testing

/// The identities that every installation must agree on, for ever. `Docs/Seeds.md` has the bytes behind them; they were computed
/// by other means than this code.
@Suite struct SeedIdentityTests {
  private static let set = SeedSet(
    "speech-types", version: 1,
    records: [SeedRecord("toast", type: "SpeechType", ["name": "Toast", "seconds": 120])])

  private func store(_ properties: EntitySchema.Property...) throws -> Store {
    var entity = EntitySchema("SpeechType", .text("name"), .integer("seconds"))
    for case .field(let field) in properties { entity.fields.append(field) }
    return try Store(inMemory: Schema([entity]))
  }

  @Test func namesAreThoseOfVersion1() throws {
    #expect(SeedIdentity.uuid(ofSet: "speech-types").uuidString == "55B2A0B1-F2BB-5C94-AD55-F855E0D44A4E")
    let toast = SeedIdentity.uuid(ofKey: "toast", set: "speech-types").uuidString
    #expect(toast == "814DCBB8-1417-53AB-9CE6-6E8BB96E2B22")
  }

  @Test func virtualReplicaIsThatOfVersion1() throws {
    let store = try store()
    #expect(try "\(store.seed(Self.set).replica)" == "0fad5de8e6d3bd2e6fa439bbca466e52")
    #expect(try "\(store.summary().fingerprint)" == "9c1e59f2bcd2356c81799df62bf1f996")
  }

  @Test func whatASetDoesNotSayIsNoPartOfItsIdentity() throws {
    var set = Self.set
    set.adoptions = [SeedAdoption(type: "SpeechType", matching: ["name"])]
    #expect(try store(.text("note"), .integer("count", default: 3)).seed(set).replica == store().seed(Self.set).replica)
  }

  @Test func everythingThatASetSaysIsPartOfItsIdentity() throws {
    let changes: [(inout SeedSet) -> Void] = [
      { $0.name = "other" }, { $0.version = 2 }, { $0.records[0].key = "other" },
      { $0.records[0].fields["seconds"] = 121 }, { $0.records[0].fields["name"] = nil },
      { $0.retired = [SeedKey("roast", type: "SpeechType")] },
      { $0.records.append(SeedRecord("roast", type: "SpeechType")) },
    ]
    var replicas = Set([try store().seed(Self.set).replica])
    for change in changes {
      var set = Self.set
      change(&set)
      #expect(try replicas.insert(store().seed(set).replica).inserted)
    }
  }
}
