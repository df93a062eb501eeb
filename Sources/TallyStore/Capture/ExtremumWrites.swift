import TallyCRDT
import TallyWire

#if PlantedFaults
  import TallyFaults
#endif

/// What this replica writes to fields that keep the greatest or the least value (`Extremum`).
///
/// Plain SQL raises: a value that goes further than what shows is written, and any other is put back. So a struct that
/// was read before a merge and is saved whole takes nothing back. An insert of a record that was never here begins; one
/// of a record that something is known of sets, as does who asks for it.
struct ExtremumWrites {
  let transaction: WriteTransaction

  init(_ transaction: WriteTransaction) { self.transaction = transaction }

  /// The register that a changed column gets; nil if its value goes no further than what the state shows.
  func raised(_ column: Column, _ kind: RecordKind, to value: Value, _ state: RecordState) throws -> FieldCell? {
    guard let extremum = column.field.extremum else { return nil }
    let register = state[column.field].flatMap { $0.stamp.rank >= .user ? $0 : nil }
    if let register, !column.accepts(register.value) {
      // What does not show cannot be taken further, and gives way as in any other column.
      let stamp = try transaction.stamp(over: state.settingTime(column.field))
      return FieldCell(field: column.field, stamp: stamp, value: value)
    }
    let said = state.cell(column.field, followsNewest: kind.followsNewest)?.value
    let shown = said.flatMap { column.accepts($0) ? $0 : nil } ?? column.defaultValue
    guard extremum.prefers(value, over: shown) else { return nil }
    var stamp = try transaction.stamp(over: state.settingTime(column.field))
    #if PlantedFaults
      let isRegister = transaction.environment.planted.contains(.raiseIsRegister)
    #else
      let isRegister = false
    #endif
    if !isRegister { stamp = Self.raise(over: register?.stamp, stamp.dot) }
    return FieldCell(field: column.field, stamp: stamp, value: value)
  }

  /// The stamp with which the transaction `dot` raises a register, over the one that it has.
  static func raise(over old: Stamp?, _ dot: Dot) -> Stamp {
    let beginning = old.flatMap { $0.rank >= .user ? $0.time : nil }
    return Stamp(time: beginning ?? .earliest, dot: dot)
  }
}

extension RecordState {
  /// The time that a write must exceed so that it sets a field, whatever was there: see `overwrittenTime`.
  func settingTime(_ field: FieldID) -> HybridTime? {
    let time = overwrittenTime(field)
    return field.extremum == nil ? time : max(time ?? .earliest, .earliest)
  }
}
