import Foundation
import TallyCRDT
import TallyStore
import TallyWire

/// What a sync of two stores did.
public struct SyncReport: Sendable, Equatable {
  /// What the first store took from the second.
  public var first = ApplyResult()
  /// What the second store took from the first.
  public var second = ApplyResult()
  /// The bytes of the deltas in both directions.
  public var byteCount = 0
  /// Whether vectors were equal but contents were not, so that full states were exchanged to repair it.
  public var repaired = false
  /// Whether both ended with equal vectors and fingerprints.
  public var isConverged = false
}

/// Brings two open stores of this process to the same state.
///
/// They exchange vectors and fingerprints, then a delta each way. Both deltas are read before either is applied, so
/// that each side learns of the conflicts it took part in. Each delta is applied whole or not at all; if the second
/// fails, the first stays, and the next sync does the rest. Large deltas go through a temporary file, so memory stays
/// bounded.
///
/// If vectors are equal then and contents are not, the stores exchange all they have. That is how it shows that two
/// copies of one store wrote under the same replica id, because a file was copied or restored from a backup: what each
/// wrote is joined like concurrent writes, and each takes a new replica id as soon as it notices. Nothing that either
/// wrote to another field, relationship or record than the other is lost, with one limit: a delete by somebody who had
/// seen one of two writes that share a number counts as having seen the other. The record is then deleted with both
/// writes in it, and can be restored.
///
/// - Throws: what reading and applying deltas throw.
@discardableResult
public func synchronize(_ first: Store, _ second: Store) throws -> SyncReport {
  var report = SyncReport()
  var (a, b) = (try first.summary(), try second.summary())
  if a.vector != b.vector {
    try exchange(first, second, since: (a.vector, b.vector), isRepair: false, &report)
    (a, b) = (try first.summary(), try second.summary())
  }
  if a.vector == b.vector, a.fingerprint != b.fingerprint {
    try exchange(first, second, since: (StateVector(), StateVector()), isRepair: true, &report)
    report.repaired = true
    (a, b) = (try first.summary(), try second.summary())
  }
  report.isConverged = a.vector == b.vector && a.fingerprint == b.fingerprint
  report.first.fingerprintMismatch = a.vector == b.vector && !report.isConverged
  report.second.fingerprintMismatch = report.first.fingerprintMismatch
  return report
}

private func exchange(
  _ first: Store, _ second: Store, since vectors: (StateVector, StateVector), isRepair: Bool, _ report: inout SyncReport
) throws {
  let toFirst = DeltaSpool()
  let toSecond = DeltaSpool()
  defer {
    toFirst.discard()
    toSecond.discard()
  }
  try second.writeDelta(since: vectors.0, to: toFirst.append)
  try first.writeDelta(since: vectors.1, to: toSecond.append)
  report.byteCount += toFirst.byteCount + toSecond.byteCount
  report.first += try first.apply(from: try toFirst.reader(), isRepair: isRepair)
  report.second += try second.apply(from: try toSecond.reader(), isRepair: isRepair)
}

extension ApplyResult {
  fileprivate static func += (sum: inout ApplyResult, next: ApplyResult) {
    sum.changes += next.changes
    sum.conflicts += next.conflicts
  }
}
