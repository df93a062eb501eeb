import Foundation
import TallyCRDT

extension StateReader {
  /// The replica whose rows are furthest ahead of a clock; nil if none is by more than a minute. Looks at the clocks in
  /// the rows, so a pass over the tables.
  func clockAhead(of date: Date) throws -> ClockLead? {
    let limit = UInt64(max(0, date.timeIntervalSince1970 * 1000)) + 60_000
    var lead: ClockLead?
    for kind in catalog.orderedKinds {
      let query = try connection.statement(
        text:
          "SELECT max(substr(tally_clock, 7)), tally_clock FROM main.\"\(kind.type)\" WHERE substr(tally_clock, 1, 2) "
          + "NOT IN (x'0000', x'FFFF')")
      defer { query.reset() }
      guard try query.step(), !query.blob(0).isEmpty, let stamp = try stamp(query.clock(1)) else { continue }
      let time = stamp.time.milliseconds
      guard time > limit else { continue }
      let seconds = Double(time) / 1000 - date.timeIntervalSince1970
      if seconds > lead?.seconds ?? 0 { lead = ClockLead(replica: stamp.dot.replica, seconds: seconds) }
    }
    return lead
  }
}
