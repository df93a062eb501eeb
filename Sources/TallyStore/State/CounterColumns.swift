import TallyCRDT
import TallyWire

extension Column {
  /// The number of a counter in a state: what is set or seeded, and all that was added.
  func number(in state: RecordState, _ kind: RecordKind) -> Int64 {
    let start = if case .integer(let number) = defaultValue { number } else { Int64(0) }
    return state.count(of: field, from: start, followsNewest: kind.followsNewest)
  }
}

/// The counters among the columns of a kind.
struct CounterColumns: Sendable {
  /// The places of the columns.
  let places: [Int]
  private let fields: [FieldID]

  init(_ columns: [Column]) {
    places = columns.indices.filter { columns[$0].isCounter }
    fields = places.map { columns[$0].field }
  }

  var isEmpty: Bool { places.isEmpty }

  /// Puts the numbers of a state's counters into the values of its row, by column.
  func count(_ state: RecordState, _ kind: RecordKind, into values: inout [Value]) {
    for place in places { values[place] = .integer(kind.columns[place].number(in: state, kind)) }
  }

  /// The values of a stored row with the numbers that a later state has, in the life that the row shows.
  func shown(_ state: RecordState, _ kind: RecordKind, over stored: StoredRecord) -> [Value] {
    guard !isEmpty, state.life?.stamp == stored.state.life?.stamp else { return stored.values }
    var values = stored.values
    for place in places {
      let new = kind.columns[place].number(in: state, kind)
      if new != kind.columns[place].number(in: stored.state, kind) { values[place] = .integer(new) }
    }
    return values
  }

  /// The cells of a row whose state was lost, with numbers that stand in for what is not known. A default says nothing.
  func standingIn(_ cells: [FieldCell], _ stamp: Stamp, _ kind: RecordKind) -> [FieldCell] {
    cells.compactMap { cell in
      guard let index = fields.firstIndex(of: cell.field) else { return cell }
      guard cell.value != kind.columns[places[index]].defaultValue else { return nil }
      return FieldCell(field: cell.field, stamp: stamp, value: cell.value)
    }
  }

  /// Whether one of the edited columns shows another number than the state has: one of more than 64 bits is cut off.
  func differ(_ state: RecordState, _ kind: RecordKind, from values: [Value], _ edited: Set<Int>) -> Bool {
    places.contains { edited.contains($0) && values[$0] != .integer(kind.columns[$0].number(in: state, kind)) }
  }

  /// A write of a counter's offset that has lost, with the numbers instead that both show with what is added by now.
  func counted(_ write: LostWrite, in state: RecordState) -> LostWrite {
    guard fields.contains(write.loser.field) else { return write }
    let added = state.added(to: write.loser.field)
    func shown(_ value: Value) -> Value {
      guard case .integer(let offset) = value else { return value }
      return .integer(Int64(clamping: Int128(offset) + added))
    }
    var write = write
    write.loser.value = shown(write.loser.value)
    write.winner.value = shown(write.winner.value)
    return write
  }
}

extension CatalogWriter {
  /// The field of what a replica has added to a counter, given a number now if it has none.
  func total(of counter: Column, by replica: ReplicaID, _ kind: RecordKind) throws -> FieldID {
    if let known = lastTotal, known.counter == counter.field, known.replica == replica { return known.field }
    let field = try field(FieldKey.key(of: counter.wireName, .total(replica)), kind: kind.number)
    lastTotal = (counter.field, replica, field)
    return field
  }
}

extension StoreError {
  /// The error of a number that a counter cannot hold.
  static func overflow(_ name: AnyRecordName, _ column: Column) -> StoreError {
    StoreError(.valueTooLarge, "\(name).\(column.name): what is added or set does not fit into 64 bits")
  }
}
