import TallyCRDT
import TallyWire

/// The part of a record's clock or stored body that is not the values, which its row shows: enough to give some fields
/// another stamp. Of counters to which something was added the row shows sums, and the numbers are here.
///
/// Most edits are of one field of a record that was never deleted and no seed knows. Their state differs from the one
/// before in one stamp, so neither has to be made: the cost is that of the bytes. It reads and writes the form of
/// `StateCoding`.
struct StampedState {
  let existence: Stamp
  /// The registers that have another stamp than `existence`, or a default; ascending by field.
  private var listed: [(field: FieldID, stamp: Stamp)] = []
  /// The values of those that the row does not show: of counters' totals, and of their offsets; ascending by field.
  private var numbers: [(field: FieldID, value: Value)] = []
  /// Whether each other column that differs from its default is a register with the stamp of `existence`.
  private var impliesOthers = true
  private(set) var supersededTouches = StateVector()
  /// A replica of which the number is known, as it has a stamp here.
  private(set) var known: KnownReplica?
  /// The checksum of the whole state, values included.
  private(set) var sum: StateSum

  /// The state of a record that one transaction inserted.
  init(inserted stamp: Stamp, _ sum: StateSum) { (existence, self.sum) = (stamp, sum) }

  /// The same by the clock of its row, with memory of a former state.
  fileprivate init(inserted stamp: Stamp, _ clock: InlineClock.Uniform, _ spare: Spare) {
    self.init(inserted: stamp, clock.sum)
    known = KnownReplica(replica: stamp.dot.replica, number: clock.replica)
    swap(&listed, &spare.listed)
  }

  /// Memory that one state leaves to the next: most of what handling small bodies costs is asking for it. Nothing is
  /// read or written of it twice at a time, and checking that again for each byte would cost as much.
  final class Spare {
    @exclusivity(unchecked) fileprivate var listed: [(field: FieldID, stamp: Stamp)] = []
    @exclusivity(unchecked) fileprivate var numbers: [(field: FieldID, value: Value)] = []
    @exclusivity(unchecked) fileprivate var stamps = StampTable()
    @exclusivity(unchecked) fileprivate var writer = ByteWriter()

    /// Takes over the memory of a state that is no longer needed.
    func take(_ state: inout StampedState) {
      swap(&listed, &state.listed)
      listed.removeAll(keepingCapacity: true)
      guard !state.numbers.isEmpty else { return }
      swap(&numbers, &state.numbers)
      numbers.removeAll(keepingCapacity: true)
    }
  }

  /// Reads a body; nil if there is more to the record than stamps and numbers: deletes, layers of seeds, other values
  /// that its row does not show.
  init?(_ bytes: UnsafeRawBufferPointer, _ states: StateReader, _ spare: Spare) throws {
    var reader = ByteReader(bytes)
    do {
      try self.init(&reader, states, spare)
    } catch let error as WireError {
      throw StoreError(stored: error)
    }
  }

  private init?(_ reader: inout ByteReader, _ states: StateReader, _ spare: Spare) throws {
    guard try reader.byte() == StateCoding.record else { return nil }
    sum = try reader.stateSum()
    spare.stamps.removeAll()
    try spare.stamps.read(&reader, states.catalog.replicas)
    guard try reader.varint() == 1, spare.stamps.count > 0 else { return nil }
    (existence, known) = (spare.stamps[0], spare.stamps.known)
    swap(&listed, &spare.listed)
    let head = try reader.count(limit: reader.remaining + 1, "fields")
    impliesOthers = head & 1 == 1
    listed.reserveCapacity(head >> 1 + 1)
    for _ in 0..<head >> 1 {
      let head = try reader.varint()
      let stamp = try spare.stamps.at(try reader.varint())
      let field = states.catalog.field(UInt32(truncatingIfNeeded: head >> 1))
      listed.append((field, stamp))
      guard head & 1 == 1 else { continue }
      if numbers.isEmpty { swap(&numbers, &spare.numbers) }
      numbers.append((field, try reader.value()))
    }
    guard numbers.isEmpty || hasOnlyNumbersOfCounters else { return nil }
    supersededTouches = try StateCoding.decodeVector(&reader, states.catalog.replicas)
    guard try reader.varint() == 0 else { return nil }
  }

  /// The stamp of a register; nil if the field has none. `isDefault` says whether the row shows the column's default.
  func stamp(of field: FieldID, isDefault: Bool) -> Stamp? {
    for entry in listed where entry.field == field { return entry.stamp }
    return impliesOthers && !isDefault && (numbers.isEmpty || !hasTotals(of: field)) ? existence : nil
  }

  /// Whether each value here is a total's, or the offset's of a counter that has totals.
  private var hasOnlyNumbersOfCounters: Bool {
    for (field, _) in numbers where !field.isTotal && !hasTotals(of: field) { return false }
    // What the row does not show of a counter is here as a whole.
    for (field, _) in listed where field.isTotal && number(of: field) == nil { return false }
    for (field, _) in listed where !field.isTotal && hasTotals(of: field) && number(of: field) == nil { return false }
    return true
  }

  /// Whether anything was added to a counter.
  func hasTotals(of counter: FieldID) -> Bool { numbers.contains { $0.field.counter == counter } }

  /// The value of a register that the row does not show; nil if it does, or if there is none.
  func number(of field: FieldID) -> Value? { numbers.first { $0.field == field }?.value }

  /// The transactions of which the state has a stamp or a touch, each once.
  var dots: [Dot] {
    var dots = [existence.dot]
    for entry in listed where !dots.contains(entry.stamp.dot) { dots.append(entry.stamp.dot) }
    for dot in supersededTouches.entries where !dots.contains(dot) { dots.append(dot) }
    return dots
  }

  /// Adds the transactions of the stamps and touches other than those of `count` registers that have `stamp`.
  /// - Returns: false if these are not all that there is of the stamp's transaction, or if there are too many others.
  func noteOthers(than stamp: Stamp, _ count: Int, in dots: inout [Dot], atMost limit: Int) -> Bool {
    let first = dots.count
    guard existence.dot != stamp.dot, supersededTouches.count <= limit else { return false }
    dots.append(existence.dot)
    var rest = count
    for entry in listed {
      if entry.stamp == stamp {
        rest -= 1
      } else {
        guard entry.stamp.dot != stamp.dot else { return false }
        if !dots[first...].contains(entry.stamp.dot) { dots.append(entry.stamp.dot) }
        guard dots.count - first <= limit else { return false }
      }
    }
    for dot in supersededTouches.entries {
      guard dot != stamp.dot else { return false }
      dots.append(dot)
    }
    return rest == 0 && dots.count - first <= limit
  }

  /// The most stamps that there can be beside one more.
  var stampLimit: Int { listed.count + 2 }

  /// Whether each stamp is that of one of the kind's columns.
  func listsOnly(_ kind: RecordKind) -> Bool { listed.allSatisfy { kind.index(of: $0.field) != nil } }

  /// Gives a register a later stamp. What it had before stays as a touch, as in a join.
  mutating func set(_ field: FieldID, to stamp: Stamp, over old: Stamp?) {
    list(field, stamp)
    if let old { touch(old, beatenBy: stamp) }
    normalizeTouches()
  }

  /// Gives a total a later stamp and another number.
  mutating func set(total field: FieldID, to stamp: Stamp, over old: Stamp?, _ number: Int64) {
    put(field, .integer(number))
    set(field, to: stamp, over: old)
  }

  /// Says that the row will show a sum, and no more the offset that it has shown; nil for none.
  mutating func hold(_ counter: FieldID, _ offset: (stamp: Stamp, value: Value)?) {
    guard let offset else { return }
    list(counter, offset.stamp)
    put(counter, offset.value)
  }

  private mutating func put(_ field: FieldID, _ value: Value) {
    let place = numbers.firstIndex { $0.field >= field } ?? numbers.count
    if place < numbers.count, numbers[place].field == field {
      numbers[place].value = value
    } else {
      numbers.insert((field, value), at: place)
    }
  }

  private mutating func list(_ field: FieldID, _ stamp: Stamp) {
    let place = listed.firstIndex { $0.field >= field } ?? listed.count
    if place < listed.count, listed[place].field == field {
      listed[place].stamp = stamp
    } else {
      listed.insert((field, stamp), at: place)
    }
  }

  /// Says that a register keeps its stamp over an earlier one, which stays as a touch, as in a join.
  mutating func keep(_ stamp: Stamp, over loser: Stamp) {
    touch(loser, beatenBy: stamp)
    normalizeTouches()
  }

  private mutating func touch(_ loser: Stamp, beatenBy winner: Stamp) {
    if loser.rank >= .user, !winner.impliesTouch(loser.dot) { supersededTouches.include(loser.dot) }
  }

  private mutating func normalizeTouches() {
    guard !supersededTouches.isEmpty else { return }
    supersededTouches = supersededTouches.filter { touch in
      !existence.impliesTouch(touch) && !listed.contains { $0.stamp.impliesTouch(touch) }
    }
  }

  /// Says that the state differs from the one before by what this adds to the fingerprint.
  mutating func add(_ difference: Fingerprint) { sum = sum + difference }

  /// Calls `body` with the bytes of the stored form, which are in the spare memory. `StateCoding` reads the same state
  /// from them as from its own. They may differ: this form never claims that the other columns are registers if there
  /// are no other columns.
  func withEncoded<T>(
    _ spare: Spare, _ replicaNumber: (ReplicaID) throws -> ReplicaNumber, _ body: ([UInt8]) throws -> T
  ) throws -> T {
    spare.writer.bytes.removeAll(keepingCapacity: true)
    spare.writer.bytes.reserveCapacity(64)
    spare.writer.byte(StateCoding.record)
    spare.writer.append(sum)
    spare.stamps.removeAll(known: known)
    spare.stamps.note(existence)
    for entry in listed { spare.stamps.note(entry.stamp) }
    try spare.stamps.encode(to: &spare.writer, replicaNumber)
    spare.writer.varint(1)
    spare.writer.varint(listed.count << 1 | (impliesOthers ? 1 : 0))
    var next = 0
    for entry in listed {
      let hasNumber = next < numbers.count && numbers[next].field == entry.field
      spare.writer.varint(UInt64(entry.field.rawValue) << 1 | (hasNumber ? 1 : 0))
      spare.writer.varint(spare.stamps.number(of: entry.stamp))
      guard hasNumber else { continue }
      spare.writer.value(numbers[next].value)
      next += 1
    }
    try StateCoding.encode(supersededTouches, to: &spare.writer, replicaNumber)
    spare.writer.varint(0)
    return try body(spare.writer.bytes)
  }
}

extension StateReader {
  /// Returns the state that a row's clock encodes, if that is stamps alone.
  func stampedState(_ clock: InlineClock) throws -> StampedState? {
    switch clock {
    case .unstamped, .leaving: nil
    case .uniform(let uniform): try stamp(clock).map { StampedState(inserted: $0, uniform, spare) }
    case .extra(let place): try extra(place.number) { try StampedState($0, self, spare) }
    }
  }
}
