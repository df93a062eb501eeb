import Tally
import TallyCRDT

/// The last acts: both devices side by side, what lost, and whether they are the same.
extension Story {
  func tellHowItEnds() throws {
    terminal.act("9  The tables, side by side")
    let (left, right) = (try phone.store.read(Tables.all), try tablet.store.read(Tables.all))
    SideBySide(left: phone.name, right: tablet.name, terminal).show(left, right)

    terminal.act("10  What conflicted, and what lost")
    for device in devices.both {
      terminal.row("In the journal of the \(device.name):")
      for conflict in try device.store.conflicts() { try show(conflict) }
    }
    terminal.say()
    terminal.say("An app can show this list and put a lost value back: that is a write like any other.")

    terminal.act("11  Are they the same?")
    check("equal tables", left == right)
    let summaries = try devices.both.map { try $0.store.summary() }
    let vectors = try summaries.map { try devices.short($0.vector) }
    check("equal state vectors: \(vectors[0])", summaries[0].vector == summaries[1].vector)
    check("equal fingerprints of the content", summaries[0].fingerprint == summaries[1].fingerprint)
    let dumps = try devices.both.map { try dump($0.store) }
    check("equal replicated states, byte for byte: \(dumps[0].count) lines", dumps[0] == dumps[1])
    for device in devices.both {
      let report = try device.store.verify()
      for problem in report.problems { terminal.say("\(device.name): \(problem)") }
      check("verify on the \(device.name): \(report.checked) records and links, sound", report.isSound)
    }
    terminal.say()
  }

  private func show(_ conflict: Conflict) throws {
    func side(_ stamp: Stamp, _ value: Value) throws -> String {
      "\(value.shown) (\(try devices.name(of: stamp.dot.replica)) \(StoryClock.text(stamp.time)))"
    }
    let label = padded("\(conflict.name.key), \(conflict.field)", 22)
    terminal.row("  \(label) shows \(try side(conflict.winner, conflict.winnerValue))")
    terminal.row("  \(padded("", 22)) lost  \(try side(conflict.loser, conflict.loserValue))")
  }

  private func dump(_ store: Store) throws -> [String] {
    var lines: [String] = []
    try store.dump(.canonical) { lines.append($0) }
    return lines
  }
}
