import TallyCRDT

/// How the values of a field become those of the field that takes its place, and back: see ``FieldSource``.
///
/// ```swift
/// let states = Lens.map([false: "open", true: "done", true: "paid"])
/// let item = EntitySchema(
///   "Item", .integer("cents", from: .lens("price", .real, .scale(100))),
///   .integer("shelf", from: .lens("shelfName", .text, .digits)),
///   .text("state", default: "open", from: .lens("done", .bool, default: false, states)))
/// ```
///
/// Null becomes null, and the default of one field that of the other. A value without a counterpart reads as the
/// default of the newer field, and is not written to the older one.
public struct Lens: Sendable, Hashable {
  enum Rule: Sendable, Hashable {
    case scale(Double)
    case digits
    case map([Counterpart])
  }

  struct Counterpart: Sendable, Hashable {
    var older: Value
    var newer: Value
  }

  static let maximumPairs = 256

  let rule: Rule

  /// The newer number is the older one times a factor: 100 for an integer of cents that takes the place of a real of
  /// euros. An integer is the product rounded to the nearest, halves away from zero; one that 64 bits cannot hold has
  /// no counterpart. Between integers, a whole factor is exact.
  /// - Parameter factor: a finite number greater than zero.
  /// - Returns: a lens between two numbers.
  public static func scale(_ factor: Double) -> Lens { Lens(rule: .scale(factor)) }

  /// A text of decimal digits and the integer that it says, in either direction. The integer is written without leading
  /// zeros; any text that is no integer of 64 bits has no counterpart.
  public static var digits: Lens { Lens(rule: .digits) }

  /// A list of pairs, each of a value of the older field and one of the newer. Of several pairs with the same value the
  /// first counts, so two values of one field may share a counterpart in the other.
  /// - Parameter pairs: between 1 and 256 pairs of texts, numbers or Booleans.
  /// - Returns: a lens between the two kinds of these values.
  public static func map(_ pairs: KeyValuePairs<Value, Value>) -> Lens {
    Lens(rule: .map(pairs.map { Counterpart(older: $0.key, newer: $0.value) }))
  }
}

/// The older field whose place a field takes. Both remain in the file and on the wire, so apps of either version go on:
/// each reads the values that the other writes.
///
/// ```swift
/// let item = EntitySchema("Item", .text("title"), .integer("cents", from: .lens("price", .real, .scale(100))))
/// ```
///
/// Of an older value and a newer one, the one that was written last counts, and the newer column shows it. A write of
/// the newer field also writes the older one, in the same transaction, so that older versions of the app see it. Of one
/// transaction that writes both, the newer value counts, unless it is null or the default. An update of the app edits
/// no record and sends nothing.
///
/// The older column stays in the table. It need not be declared, nor be in the app's struct. What a field takes the
/// place of is decided when the field is first declared, and remains so. A counter takes the place of no field, since a
/// number that an older version writes does not say which additions it contains: show the sum of both.
/// Cost: an insert takes 1.4 times and an update of the field 1.7 times the instructions of one without a source. The
/// first opening with it writes each row that has an older value.
public struct FieldSource: Sendable, Hashable {
  /// The older field's name, with which it was first declared.
  public var field: String
  /// The kind of the older field's values.
  public var kind: FieldKind
  /// The default of the older field.
  public var defaultValue: Value
  /// How older values become newer ones, and back.
  public var lens: Lens
  /// Whether a write of the newer field is also one of the older field. If not, older versions of the app keep their
  /// own value until one of them writes it.
  public var keepsOldApps: Bool

  /// Names the older field and a lens.
  ///
  /// ```swift
  /// let price = FieldSource.lens("price", .real, .scale(100))
  /// ```
  ///
  /// It is checked when a store is opened: kinds between which the lens cannot lead, or defaults that are not each
  /// other's counterpart, are `StoreError.invalidSchema`.
  /// - Parameters:
  ///   - field: the older field's name, with which it was first declared.
  ///   - kind: the kind of the older field's values.
  ///   - defaultValue: the default of the older field.
  ///   - lens: how older values become newer ones, and back.
  ///   - keepsOldApps: whether a write of the newer field is also one of the older field.
  /// - Returns: the source, for a field's `from:`.
  public static func lens(
    _ field: String, _ kind: FieldKind, default defaultValue: Value = .null, _ lens: Lens, keepsOldApps: Bool = true
  ) -> FieldSource {
    FieldSource(
      field: field, kind: kind, defaultValue: kind.fitted(defaultValue), lens: lens, keepsOldApps: keepsOldApps)
  }
}

// MARK: - Translating

extension Lens {
  /// The value of the newer field; nil if there is no counterpart.
  package func newer(_ value: Value, _ kind: FieldKind) -> Value? {
    switch rule {
    case .scale(let factor): Self.scaled(value, by: factor, kind)
    case .digits: Self.spelled(value, kind)
    case .map(let pairs): pairs.first { $0.older == value }?.newer
    }
  }

  /// The value of the older field; nil if there is no counterpart.
  package func older(_ value: Value, _ kind: FieldKind) -> Value? {
    switch rule {
    case .scale(let factor): Self.divided(value, by: factor, kind)
    case .digits: Self.spelled(value, kind)
    case .map(let pairs): pairs.first { $0.newer == value }?.older
    }
  }

  private static func scaled(_ value: Value, by factor: Double, _ kind: FieldKind) -> Value? {
    if case .integer(let number) = value, kind == .integer, let factor = Int64(exactly: factor) {
      let (product, overflows) = number.multipliedReportingOverflow(by: factor)
      return overflows ? nil : .integer(product)
    }
    return value.double.flatMap { kind.number($0 * factor) }
  }

  private static func divided(_ value: Value, by factor: Double, _ kind: FieldKind) -> Value? {
    if case .integer(let number) = value, kind == .integer, let factor = Int64(exactly: factor),
      number.isMultiple(of: factor)
    {
      return .integer(number / factor)
    }
    return value.double.flatMap { kind.number($0 / factor) }
  }

  private static func spelled(_ value: Value, _ kind: FieldKind) -> Value? {
    switch (value, kind) {
    case (.integer(let number), .text): .text(String(number))
    case (.text(let text), .integer): Int64(text).map(Value.integer)
    default: nil
    }
  }
}

extension Value {
  fileprivate var double: Double? {
    switch self {
    case .integer(let number): Double(number)
    case .real(let number): number
    default: nil
    }
  }
}

extension FieldKind {
  /// A number of this kind; nil if it has none like it.
  fileprivate func number(_ number: Double) -> Value? {
    guard number.isFinite else { return nil }
    return self == .integer ? Int64(exactly: number.rounded()).map(Value.integer) : Value(real: number)
  }

  /// A whole number in a literal is a real where the field is one.
  package func fitted(_ value: Value) -> Value {
    switch (value, self) {
    case (.integer(let number), .real): Value(real: Double(number))
    case (.real(let number), _): Value(real: number)
    default: value
    }
  }
}

// MARK: - Checking

extension FieldSource {
  /// The same source as the schema means it: pairs with the values that the two fields hold.
  func fitted(to newer: FieldKind) -> FieldSource {
    guard case .map(let pairs) = lens.rule else { return self }
    var source = self
    source.lens = Lens(
      rule: .map(pairs.map { Lens.Counterpart(older: kind.fitted($0.older), newer: newer.fitted($0.newer)) }))
    return source
  }

  /// The older field as the source declares it.
  var declared: FieldSchema { FieldSchema(field, kind, default: defaultValue) }

  /// - Throws: `StoreError.invalidSchema`.
  fileprivate func check(for newer: FieldSchema, _ label: String) throws(StoreError) {
    guard newer.kind != .counter else {
      throw StoreError(
        .invalidSchema,
        "\(label): a counter takes the place of no field, since a number that an older version writes does not say "
          + "which additions it contains; declare the counter beside that field, and show the sum of both")
    }
    let fits =
      switch lens.rule {
      case .scale(let factor): factor.isFinite && factor > 0 && kind.isNumber && newer.kind.isNumber
      case .digits: [kind, newer.kind] == [.text, .integer] || [kind, newer.kind] == [.integer, .text]
      case .map(let pairs):
        (1...Lens.maximumPairs).contains(pairs.count)
          && pairs.allSatisfy { kind.takesPart(of: $0.older) && newer.kind.takesPart(of: $0.newer) }
      }
    guard fits, newer.keep == nil else {
      throw StoreError(
        .invalidSchema, "\(label): no such lens leads from \(kind.withArticle) to \(newer.kind.withArticle)")
    }
    let expected = defaultValue.isNull ? Value.null : lens.newer(defaultValue, newer.kind)
    guard expected == newer.defaultValue,
      newer.defaultValue.isNull || lens.older(newer.defaultValue, kind) == defaultValue
    else {
      throw StoreError(
        .invalidSchema,
        "\(label): the default of \(newer.name) must be that of \(printable(field)) through the lens, and back")
    }
  }
}

extension FieldKind {
  fileprivate var isNumber: Bool { self == .integer || self == .real }

  /// Whether a value can stand in a pair of a map.
  fileprivate func takesPart(of value: Value) -> Bool {
    [.text, .integer, .real, .bool].contains(self) && accepts(value)
  }
}

extension EntitySchema {
  /// Adds the older fields that only sources declare.
  package mutating func declareSources() {
    var next = 0
    while next < fields.count {
      if let source = fields[next].source, !fields.contains(where: { $0.wireName == source.field }) {
        fields.append(source.declared)
      }
      next += 1
    }
  }

  /// The fields that a lens leads from or to, each older one before what takes its place: places in `fields`.
  package var lensPairs: [(older: Int, newer: Int)] {
    var pairs: [(older: Int, newer: Int)] = fields.indices.compactMap { newer in
      guard let source = fields[newer].source else { return nil }
      return fields.firstIndex { $0.wireName == source.field }.map { ($0, newer) }
    }
    var ordered: [(older: Int, newer: Int)] = []
    while let next = pairs.firstIndex(where: { pair in !pairs.contains { $0.newer == pair.older } }) {
      ordered.append(pairs.remove(at: next))
    }
    return ordered
  }

  /// Checks that sources name fields with their first names.
  /// - Throws: `StoreError.invalidSchema`.
  func checkSourceNames() throws(StoreError) {
    for field in fields {
      guard let source = field.source,
        let other = fields.first(where: { $0.name.lowercased() == source.field.lowercased() }),
        other.wireName != source.field
      else { continue }
      throw StoreError(
        .invalidSchema,
        "\(type).\(field.name), from \(printable(source.field)): that was first declared as \(printable(other.wireName)), "
          + "which is the name to give")
    }
  }

  /// - Throws: `StoreError.invalidSchema` with the first rule that is broken.
  func checkSources() throws(StoreError) {
    var replaced = Set<String>()
    for field in fields {
      guard let source = field.source else { continue }
      let label = "\(type).\(field.name), from \(printable(source.field))"
      guard replaced.insert(source.field).inserted else {
        throw StoreError(.invalidSchema, "\(label): another field takes its place already")
      }
      try source.check(for: field, label)
      guard !references.contains(where: { $0.name == source.field }) else {
        throw StoreError(.invalidSchema, "\(label): it is a reference, and a lens leads from a field")
      }
      var (names, next): ([String], FieldSchema?) = ([], field)
      while let known = next {
        guard !names.contains(known.wireName) else {
          throw StoreError(.invalidSchema, "\(label): the lenses lead in a circle")
        }
        names.append(known.wireName)
        next = known.source.flatMap { source in fields.first { $0.wireName == source.field } }
      }
      guard let older = fields.first(where: { $0.wireName == source.field }) else { continue }
      guard older.kind == source.kind, older.keep == nil else {
        let extremum = older.keep.map { " that keeps the \($0.rawValue)" } ?? ""
        throw StoreError(
          .invalidSchema, "\(label): that is \(older.kind.withArticle)\(extremum), and not \(source.kind.withArticle)")
      }
      guard older.defaultValue == source.defaultValue else {
        throw StoreError(.invalidSchema, "\(label): that has another default; name it with default:")
      }
    }
    for rule in unique {
      for name in rule.fields {
        guard let field = fields.first(where: { $0.name == name }),
          field.source != nil || replaced.contains(field.wireName)
        else { continue }
        throw StoreError(.invalidSchema, "\(type).\(name) cannot be unique, since another field shows its values too")
      }
    }
  }
}
