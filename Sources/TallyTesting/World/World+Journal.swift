import TallyCRDT
import TallyStore

extension World {
  /// Of writes to one field that no author had in front of them, one shows and the others are in a journal.
  func checkJournals() throws {
    guard !oracle.hasCopies, isJournalKept else { return }
    let journals = try present.map { try $0.store.conflicts(limit: .max) }.joined()
    let noted = Set(journals.map { Noted(name: $0.name.text, field: $0.field, dot: $0.loser.dot) })
    let schemas = Set(replicas.map(\.schema))
    let lost = oracle.lostWrites(present.first?.seen ?? EventSet(), schemas.count == 1 ? schemas.first : nil)
    for write in lost.sorted(by: { ($0.name, $0.field) < ($1.name, $1.field) }) where !noted.contains(write) {
      throw Finding("\(write.field) of \(write.name), written by \(write.dot), is neither shown nor in a journal")
    }
  }

  struct Noted: Hashable {
    var name, field: String
    var dot: Dot
  }

  /// Journals stay with their device: nothing can be said once one is gone or set back.
  private var isJournalKept: Bool { replicas.allSatisfy { !$0.isLost && $0.hasWholeJournal } }
}

extension WorldOracle {
  /// Returns the writes that no other write had in front of it, and that do not show. Without a schema, because not all
  /// devices have the same, deletes that win are left out, since who meets one need not know that it wins.
  mutating func lostWrites(_ seen: EventSet, _ schema: Schema?) -> Set<World.Noted> {
    let presence = schema.map { Presence(specification, specification.past(seen, specified($0)), specified($0)) }
    let purges = specification.emptied(in: seen)
    // A device that empties a record removes its entries as well.
    func isPurged(_ event: Int, of record: String) -> Bool {
      purges[record]?.contains { specification.events[$0].seen.contains(event) } ?? false
    }
    var writes: [Specification<SchemaField>.Register: [(event: Int, value: String?, time: UInt64)]] = [:]
    for event in seen {
      for case .write(let register, let value, let time) in specification.events[event].effects {
        writes[register, default: []].append((event, value, time))
      }
    }
    var result: Set<World.Noted> = []
    // Whether a number has lost depends on what both authors knew to be added.
    for (register, all) in writes where !seeded.contains(register.record) && !register.field.isCounter {
      let last = all.filter { write in
        !all.contains { $0.event != write.event && specification.covers($0.event, write.event) }
      }
      func winner(_ write: (event: Int, value: String?, time: UInt64)) -> Specification<SchemaField>.Winner {
        .init(event: write.event, time: write.time, value: write.value)
      }
      let purged = all.filter { isPurged($0.event, of: register.record) }
      // What lost to a purged value is in an entry that holds that as well, and goes with it. References stay.
      let kept = last.filter { write in
        purged.allSatisfy {
          $0.event != write.event && (register.field.isReference || specification.isBefore(winner($0), winner(write)))
        }
      }
      let shown = (register.field.isReference ? last : kept).max { specification.isBefore(winner($0), winner($1)) }
      // A write that lost to an equal value has lost nothing.
      for write in kept where write.event != shown?.event {
        // A reference that closes a circle of owners shows as null, and so what said null.
        if write.value == nil, register.field.isOwner { continue }
        guard all.allSatisfy({ $0.event == write.event || $0.value != write.value }) else { continue }
        result.insert(World.Noted(name: register.record, field: register.field.name, dot: dots[write.event]))
      }
      // An edit that a delete beats is lost as well.
      if let shown, kept.contains(where: { $0.event == shown.event }),
        presence?.isLost(shown.event, of: register.record) == true
      {
        result.insert(World.Noted(name: register.record, field: register.field.name, dot: dots[shown.event]))
      }
    }
    return result
  }
}

extension Store {
  /// Everything it holds, as a text.
  func dumped() throws -> String {
    var text = ""
    try dump(.canonical) { text += $0 }
    return text
  }
}
