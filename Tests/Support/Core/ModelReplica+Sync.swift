import TallyCRDT
import TallyFaults
import TallyTesting

/// What one replica sends another: cells, and the vector of the snapshot they were read in.
package struct ModelDelta {
  /// What a receiver must have already.
  package var base: StateVector
  /// What a receiver has afterwards.
  package var target: StateVector
  package var records: [(name: AnyRecordName, state: RecordState)] = []
  package var links: [(link: ModelReplica.Edge, element: ORSetElement)] = []

  /// The same delta in pieces, each with a share of the cells.
  package func chunks(_ count: Int) -> [ModelDelta] {
    (0..<count).map { index in
      var chunk = ModelDelta(base: base, target: target)
      chunk.records = records.enumerated().filter { $0.offset % count == index }.map(\.element)
      chunk.links = links.enumerated().filter { $0.offset % count == index }.map(\.element)
      return chunk
    }
  }
}

/// What became of something that was received.
package enum Receipt {
  case applied
  /// Part of a delta, kept in the inbox.
  case waiting
  /// The base is not covered.
  case refused
}

extension ModelReplica {
  /// Everything that a replica with the vector `base` lacks, in one snapshot.
  package func delta(since wanted: StateVector) -> ModelDelta {
    let base = planted.base(wanted)
    let lowered = StateVector(vector.entries.map { ($0.replica, min($0.sequence, wanted[$0.replica])) })
    var delta = ModelDelta(base: lowered, target: vector)
    for (name, state) in records.sorted(by: { $0.key < $1.key }) {
      if let part = state.delta(since: base, planted: planted) { delta.records.append((name, part)) }
    }
    for (link, element) in links.sorted(by: { $0.key < $1.key }) {
      if let part = element.delta(since: base) { delta.links.append((link, part)) }
    }
    if planted.contains(.groupSplitAcrossBatches) { delta.records = Array(delta.records.prefix(2)) }
    if planted.contains(.hiddenLeftOutForNewcomers), base.isEmpty {
      delta.records.removeAll { !$0.state.deletes.isEmpty && (try? isVisible($0.name)) == false }
    }
    return delta
  }

  /// A delta as it leaves the sender, which may be long after it was read.
  package func sending(_ delta: ModelDelta) -> ModelDelta {
    var delta = delta
    if planted.contains(.vectorOutsideSnapshot) { delta.target = vector }
    return delta
  }

  /// Cells and vector together, or nothing.
  package mutating func apply(_ delta: ModelDelta, now: UInt64) -> Receipt {
    guard vector.covers(delta.base) || planted.contains(.baseNotChecked) else { return .refused }
    noticeRestore(delta.target)
    let isRepeated = vector.covers(delta.target)
    mergeCells(of: delta, now: now)
    vector.merge(delta.target)
    if planted.contains(.duplicateCountedTwice), isRepeated {
      for dot in delta.target.entries { vector[dot.replica] += dot.sequence - delta.base[dot.replica] }
    }
    return .applied
  }

  /// One piece of a delta; it has no effect before the last piece has come.
  package mutating func receive(_ chunk: ModelDelta, _ index: Int, of count: Int, transfer: Int, now: UInt64) -> Receipt
  {
    if planted.contains(.vectorPerChunk) { return apply(chunk, now: now) }
    inbox[transfer, default: [:]][index] = chunk
    guard let chunks = inbox[transfer], chunks.count == count else { return .waiting }
    inbox[transfer] = nil
    guard vector.covers(chunk.base) else { return .refused }
    noticeRestore(chunk.target)
    for chunk in chunks.values { mergeCells(of: chunk, now: now) }
    vector.merge(chunk.target)
    return .applied
  }

  private func received(_ state: RecordState) -> RecordState {
    guard planted.contains(.referenceToAbsentDropped) else { return state }
    var state = state
    state.fields.removeAll { cell in
      guard case .text(let text) = cell.value, let target = try? AnyRecordName(text) else { return false }
      return (try? isVisible(target)) == false
    }
    return state
  }

  private mutating func noticeRestore(_ target: StateVector) {
    if target[id] > vector[id] { isOlderCopy = true }
  }

  private mutating func mergeCells(of delta: ModelDelta, now: UInt64) {
    let clock = planted.contains(.receiverClampsStamps) ? HybridTime(milliseconds: now) : nil
    let partial = planted.contains(.partialBatch)
    for (name, state) in partial ? delta.records.dropLast(delta.records.count > 1 ? 1 : 0) : delta.records[...] {
      merge(name, received(clock.map { state.clamped(to: $0) } ?? state))
    }
    for (link, element) in partial ? delta.links.dropLast() : delta.links[...] {
      merge(link, clock.map { element.clamped(to: $0) } ?? element)
    }
  }
}

// MARK: - The planted clamping of stamps

extension Stamp {
  fileprivate func clamped(to limit: HybridTime) -> Stamp { Stamp(rank: rank, time: min(time, limit), dot: dot) }
}

extension RecordState {
  fileprivate func clamped(to limit: HybridTime) -> RecordState {
    var result = self
    result.existence = existence?.clamped(to: limit)
    for index in result.fields.indices { result.fields[index].stamp = fields[index].stamp.clamped(to: limit) }
    for index in result.deletes.indices { result.deletes[index].stamp = deletes[index].stamp.clamped(to: limit) }
    return result
  }
}

extension ORSetElement {
  fileprivate func clamped(to limit: HybridTime) -> ORSetElement {
    var result = self
    result.tags = tags.map { Tag(added: $0.added.clamped(to: limit), removed: $0.removed?.clamped(to: limit)) }
    return result
  }
}
