import TallyCRDT

/// The steps of a compaction for a batch of hidden records. It is worked out in a snapshot, so that no writer waits
/// while a hundred thousand records below a deleted owner are read.
///
/// The transaction that carries it out decides again for each record, unless nothing has been written since.
struct CompactionPlan {
  struct Step {
    var name: AnyRecordName
    var verdict: Shredding.Verdict
  }

  /// The records to empty, and those to move to where stubs are.
  private var steps: [Step] = []
  private var done = 0
  private(set) var report = CompactionReport()
  /// Where the next plan begins; nil at the end.
  private(set) var next: Int?
  /// The vector of the snapshot, and of what was done since by this plan.
  var vector: StateVector
  /// The deletes and removals below each deleted record, which `Hiding` takes up again.
  let below: [AnyRecordName: StateVector]

  /// Carried over from the last transaction that carried out some of the plan.
  var seenAbove: SeenAbove?

  private static let mostSteps = 1 << 15

  /// Looks at the hidden records from one on. Of a dry run only the report is of interest.
  init(_ reader: StateReader, from start: Int, _ ripe: Shredding.Ripe?, isDryRun: Bool) throws {
    try reader.refuseDamage()
    vector = try reader.vector()
    let hiding = Hiding(reader)
    let replica = try reader.ownNumber().flatMap { reader.catalog.replicas[$0] }
    let shredding = Shredding(ripe, of: replica, hiding)
    var position = start
    repeat {
      let (last, rows) = try reader.hiddenRecords(after: position, limit: 256)
      for (kind, name) in rows {
        guard let stored = try reader.record(hidden: name, kind) else { continue }
        let verdict = try shredding.verdict(name, kind, stored)
        switch verdict {
        case .stays where !StubCoding.isStub(stored.state): continue
        case .stays: break
        case .waits:
          report.waiting += 1
          continue
        case .goes where isDryRun: report.count(stored.state)
        case .goes: break
        }
        if !isDryRun { steps.append(Step(name: name, verdict: verdict)) }
      }
      next = last
      position = last ?? position
    } while next != nil && steps.count < Self.mostSteps
    below = hiding.below
  }

  var isDone: Bool { done == steps.count }

  /// Hands over the files that its steps have named since the last time.
  mutating func takeFiles() -> [AssetName: HybridTime] {
    defer { report.files = [:] }
    return report.files
  }

  /// Carries out the next step in a transaction.
  /// - Returns: false when all steps are done.
  mutating func carryOut(_ shredding: Shredding, in transaction: WriteTransaction, isUnchanged: Bool) throws -> Bool {
    guard !isDone else { return false }
    let step = steps[done]
    done += 1
    guard let kind = transaction.catalog.kind(of: step.name.type),
      let stored = try transaction.reader.record(hidden: step.name, kind), case .hidden = stored.place
    else { return true }
    let verdict = try isUnchanged ? step.verdict : shredding.verdict(step.name, kind, stored)
    switch verdict {
    case .goes: try transaction.empty(step.name, kind, stored, &report)
    case .waits: report.waiting += 1
    case .stays: _ = try transaction.writer.putInPlace(step.name, kind, stored)
    }
    return true
  }
}
