import TallyCRDT
import TallyFaults
import TallyTesting

/// A transaction in progress: all its cells share one dot.
private struct Transaction {
  let dot: Dot
  let now: HybridTime
  /// What the transaction deletes covers the transaction itself.
  let context: StateVector
  let planted: PlantedFault
  /// Whether anything but deletes was written.
  var hasWrites = false
  var deleted: Set<AnyRecordName> = []
  var hasCells = false

  /// The stamp of a cell written over one of time `time`.
  mutating func stamp(over time: HybridTime?, isDelete: Bool = false) -> Stamp {
    hasCells = true
    if !isDelete { hasWrites = true }
    return Stamp(time: .next(now: now, over: planted.contains(.clockMayGoBack) ? nil : time), dot: dot)
  }
}

extension ModelReplica {
  /// Runs operations as one local transaction; if none of them changes anything, there was no transaction.
  package mutating func transact(now: UInt64, _ operations: [Operation]) throws {
    let dot = Dot(replica: id, sequence: vector[id] + 1)
    var context = vector
    context.include(dot)
    var transaction = Transaction(dot: dot, now: HybridTime(milliseconds: now), context: context, planted: planted)
    for operation in operations { try perform(operation, &transaction) }
    if transaction.hasCells, transaction.hasWrites || !planted.contains(.counterReused) { vector = context }
  }

  private mutating func perform(_ operation: Operation, _ transaction: inout Transaction) throws {
    switch operation {
    case .insert(let record, let values): try insert(Model.name(record), values, &transaction)
    case .update(let record, let field, let value): try update(Model.name(record), field, value, &transaction)
    // The model has no counters.
    case .count: break
    case .delete(let record): try delete(Model.name(record), &transaction)
    case .restore(let record): try restore(Model.name(record), &transaction)
    case .link(let link): try self.link(link.source, link.target, isAdd: true, &transaction)
    case .unlink(let link): try self.link(link.source, link.target, isAdd: false, &transaction)
    case .move: break
    }
  }

  private mutating func insert(
    _ name: AnyRecordName, _ values: [ModelField: String], _ transaction: inout Transaction
  ) throws {
    guard !transaction.deleted.contains(name), try !isVisible(name) else { return }
    for (field, value) in values where field.isReference && fields.contains(field) {
      guard try isVisible(Model.name(value)) else { return }
    }
    let keepsOld = planted.contains(.newLifeKeepsOld)
    let old = keepsOld ? RecordState() : self[name]
    var new = RecordState(inserted: transaction.stamp(over: old.existence?.time), fields: [])
    for field in ModelField.allCases {
      let cell = old[field.id]
      let value = fields.contains(field) ? values[field] : nil
      guard value != nil || cell.map({ !$0.value.isNull }) ?? false else { continue }
      let stamp = cell == nil ? new.existence : transaction.stamp(over: cell?.stamp.time)
      guard let stamp else { continue }
      new.fields.append(FieldCell(field: field.id, stamp: stamp, value: Value(text: value)))
    }
    merge(name, new)
    // A new life has no relationships, in either direction.
    for link in links.keys where (link.source == name || link.target == name) && !keepsOld {
      unlink(link, &transaction)
    }
  }

  private mutating func update(
    _ name: AnyRecordName, _ field: ModelField, _ value: String?, _ transaction: inout Transaction
  ) throws {
    // An app compares with what it sees: a reference that shows null is null to it, whatever the register holds.
    guard fields.contains(field), let row = try row(name), row[field] != value else { return }
    if field.isReference, let value, try !isVisible(Model.name(value)) { return }
    var change = RecordState()
    let stamp = transaction.stamp(over: self[name][field.id]?.stamp.time)
    change.fields = [FieldCell(field: field.id, stamp: stamp, value: Value(text: value))]
    merge(name, change)
  }

  private mutating func delete(_ name: AnyRecordName, _ transaction: inout Transaction) throws {
    guard try isVisible(name) else { return }
    var change = RecordState()
    let stamp = transaction.stamp(over: self[name].existence?.time, isDelete: true)
    change.deletes = [Delete(stamp: stamp, context: transaction.context)]
    merge(name, change)
    transaction.deleted.insert(name)
    guard planted.contains(.cascadeWritesDeletes) else { return }
    for child in owned(by: name) where self[child].deletes.isEmpty { merge(child, change) }
  }

  private mutating func restore(_ name: AnyRecordName, _ transaction: inout Transaction) throws {
    guard records[name] != nil, !transaction.deleted.contains(name), try !isVisible(name) else { return }
    merge(name, RecordState(inserted: transaction.stamp(over: self[name].existence?.time), fields: []))
  }

  private mutating func link(
    _ source: String, _ target: String, isAdd: Bool, _ transaction: inout Transaction
  ) throws {
    let link = Edge(source: Model.name(source), target: Model.name(target))
    guard try isVisible(link.source), try isVisible(link.target) else { return }
    guard links[link]?.isMember ?? false != isAdd else { return }
    if isAdd { add(link, &transaction) } else { unlink(link, &transaction) }
  }

  private mutating func add(_ link: Edge, _ transaction: inout Transaction) {
    var element = links[link] ?? ORSetElement()
    let stamp = transaction.stamp(over: element.latestTime)
    // A dot names one tag: what a transaction adds, removes and adds again, it adds once.
    element.tags.removeAll { $0.added.dot == stamp.dot }
    element.add(stamp)
    set(link, element)
  }

  private mutating func unlink(_ link: Edge, _ transaction: inout Transaction) {
    guard var element = links[link], element.isMember else { return }
    element.remove(transaction.stamp(over: element.latestTime))
    set(link, element)
  }
}
