/// How large a figure may be: times its baseline; bytes, or seconds, where it has none.
struct Target {
  var limit: Double
  /// What is accepted of a figure that is known to miss its target, so that the gate notices when it gets worse.
  var accepted: Double?
  /// The same for the time on the wall, where syncs to the disk decide. Nothing is accepted beyond it and the gate does
  /// not look at it: another program's use of the disk shows in it.
  var wall: Double?

  init(_ limit: Double, accepted: Double? = nil, wall: Double? = nil) {
    (self.limit, self.accepted, self.wall) = (limit, accepted, wall)
  }

  /// What the gate takes for the target.
  var gate: Double { max(limit, accepted ?? 0) }

  /// The target of the figure with this id; nil if it has none.
  static func of(_ id: String, records: Int) -> Target? {
    (records <= smallCount ? small[id] : nil) ?? all[id]
  }

  /// With so many records or fewer everything fits into the caches, where plain SQLite gains most.
  static let smallCount = 10_000

  /// What is accepted lies between what a busy machine found with 10,000 and with 100,000 records.
  private static let all = [
    "W1.sql": Target(1.4),
    "W1.record": Target(1.4),
    "W1.c": Target(1.4),
    "W1.default": Target(1.6),
    "W2.one": Target(1.7),
    "W3.c": Target(2.2, accepted: 5.6),
    "W3.bytes": Target(1.05),
    "W4.one": Target(1.5, accepted: 3),
    "W4.sorted": Target(2, accepted: 3.5),
    "W5.known": Target(0.5, accepted: 1.1),
    "W5.repair": Target(1.5, accepted: 4),
    "W6.exchange": Target(1.6, accepted: 3),
    "W7.change": Target(2.5, accepted: 9),
    "W7.start": Target(2, accepted: 4.5, wall: 2),
    "W7.durable": Target(2, accepted: 4.5, wall: 2),
    "W7.cells": Target(60),
    "W8.inserted": Target(1.12),
    "W8.updated": Target(1.18, accepted: 1.3),
    "W9.delete": Target(1.3, accepted: 2.4, wall: 1.3),
    "W9.bytes": Target(30),
    "W10.open": Target(4),
    "W10.beside": Target(4, accepted: 14),
    "W12.second": Target(1.2),
    "W14.first": Target(1.5),
    "W14.live": Target(2.5, accepted: 9, wall: 2.5),
    "W17.empty": Target(1.2, accepted: 2),
    "W17.left": Target(90, accepted: 130),
    "W19.add": Target(1.15, wall: 1.15),
    // As fast as without files; what is beyond that is noise.
    "W19.open": Target(1.05),
    "W19.url": Target(0.02),
  ]

  private static let small = [
    "W1.sql": Target(2),
    "W1.record": Target(2),
    "W1.c": Target(2),
    "W2.one": Target(2.1),
    "W9.delete": Target(1.8, accepted: 4, wall: 1.8),
  ]
}
