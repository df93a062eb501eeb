import Tally
import TallyCRDT
import TallyStore
import TallyWire
import Testing

/// The sum in the header of a whole delta vouches for what it holds.
@Suite struct VouchedDeltaTests {
  /// A delta of a sender that does not look at what it reads: another value under the same stamp, and the sum as it was
  /// kept.
  private static func damaged(_ store: Store) throws -> [UInt8] {
    var reader = try DeltaReader(try store.delta())
    var bytes: [UInt8] = []
    var writer = try DeltaWriter(header: reader.header) { bytes += $0 }
    while var block = try reader.nextBlock() {
      for group in block.records.indices {
        for item in block.records[group].items.indices {
          for field in block.records[group].items[item].state.fields.indices
          where block.records[group].items[item].state.fields[field].value == .text("one") {
            block.records[group].items[item].state.fields[field].value = .text("zzz")
          }
        }
      }
      try writer.append(block)
    }
    try writer.finish()
    return bytes
  }

  private static func store() throws -> Store { try Store(inMemory: Lab.schema) }

  @Test func aWholeDeltaThatDoesNotFitItsSumIsRefused() throws {
    let sender = try Self.store()
    try sender.run("INSERT INTO P(id, name, pos) VALUES('P|~|1', 'one', 1)")
    let delta = try Self.damaged(sender)
    for receiver in [try Self.store(), try Store(inMemory: Lab.schema)] {
      let error = #expect(throws: StoreError.self) { try receiver.apply(delta) }
      #expect(error?.code == .damagedSender)
      #expect(try receiver.vector.isEmpty)
      #expect(try receiver.verify().isSound)
    }
    // Nor does it change who has everything, though its value is the greater.
    let intact = try Self.store()
    try intact.apply(try sender.delta())
    let error = #expect(throws: StoreError.self) { try intact.apply(delta, isRepair: true) }
    #expect(error?.code == .damagedSender)
    #expect(try Lab.text(intact, "SELECT name FROM P") == "one")
  }

  @Test func whatNobodyVouchesForChangesNothingThatIsHere() throws {
    let sender = try Self.store()
    try sender.run("INSERT INTO P(id, name, pos) VALUES('P|~|1', 'one', 1)")
    let intact = try Self.store()
    try intact.apply(try sender.delta())
    var reader = try DeltaReader(try Self.damaged(sender))
    var header = reader.header
    header.fingerprint = nil
    var bytes: [UInt8] = []
    var writer = try DeltaWriter(header: header) { bytes += $0 }
    while let block = try reader.nextBlock() { try writer.append(block) }
    try writer.finish()
    #expect(try intact.apply(bytes, isRepair: true).changes == 0)
    #expect(try Lab.text(intact, "SELECT name FROM P") == "one")
  }

  /// The vector is a claim that no content shows.
  @Test func aVectorThatTheDiskChangedIsMadeAnew() throws {
    for change in ["sequence + 5", "sequence - 1"] {
      let lab = try Lab(.hook)
      for number in 1...3 { try lab.a.run("INSERT INTO P(id, name) VALUES('P|~|\(number)', 'n')") }
      try lab.sync()
      try lab.a.run("INSERT INTO P(id, name) VALUES('P|~|own', 'only here')")
      let replica = try lab.a.summary().replica
      try lab.a.flushTail()
      try lab.a.close()
      try lab.shell("a", "UPDATE tally_vector SET sequence = \(change)")
      let a = try lab.reopened("a")
      #expect(try a.doubt()?.level == .damaged)
      try a.run("INSERT INTO P(id, name) VALUES('P|~|later', 'n')")
      #expect(try a.summary().replica != replica)
      try a.sync(with: lab.b)
      try expectConverged(a, lab.b)
      #expect(try Lab.rows(lab.b, "P").count == 5, "\(change)")
      #expect(try a.doubt()?.level != .damaged)
    }
  }
}
