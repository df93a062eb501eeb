#if Macros
  import Foundation
  import GRDB
  import TallyCRDT
  import TallyStore

  /// One column of an `@Entity`, in its records and in its schema. The macro's code is built from these.
  ///
  /// An app need not name it. The macro generates one for each stored property. The compiler's choice among the
  /// `column` functions determines what the column holds, because the macro itself knows no types.
  public struct EntityColumn<Record: Entity & FetchableRecord & EncodableRecord, Value: Sendable>: Sendable {
    /// The column's declaration in the schema.
    public let property: EntitySchema.Property
    private let name: String
    /// The default that replaces a value that cannot be read.
    private let fallback: @Sendable () -> Value
    /// What replaces a value that is not listed instead; nil if no values are listed.
    private let unknown: Value?
    /// Whether null is what shows for a field that was never written: then it is nothing to speak of.
    private let takesNull: Bool
    /// Whether the column holds JSON, which may have more than the value shows.
    private let isJSON: Bool
    /// Nil for what cannot be read, null included unless it is a value.
    private let decode: @Sendable (DatabaseValue) -> Value?
    private let encode: @Sendable (Value) throws -> DatabaseValue

    private init(
      _ name: String, _ property: EntitySchema.Property, takesNull: Bool, isJSON: Bool = false,
      fallback: @escaping @Sendable () -> Value, unknown: Value? = nil,
      decode: @escaping @Sendable (DatabaseValue) -> Value?, encode: @escaping @Sendable (Value) throws -> DatabaseValue
    ) {
      self.name = name
      self.property = property
      self.takesNull = takesNull
      self.isJSON = isJSON
      self.fallback = fallback
      self.unknown = unknown
      self.decode = decode
      self.encode = encode
    }

    /// A column of a coding; with a default that is the column's own if it is one literal for every record.
    private static func required(
      _ name: String, _ coding: FieldCoding<Value>, _ value: @escaping @Sendable () -> Value, isConstant: Bool,
      wireName: String?, from source: FieldSource? = nil, oneOf values: [Value]? = nil, unknown: Value? = nil
    ) -> Self {
      let columnDefault = isConstant && coding.takesDefault ? coding.stored(value()) : .null
      let field = FieldSchema(
        name, coding.kind, default: columnDefault, wireName: wireName, from: source, oneOf: values?.map(coding.stored),
        unknown: unknown.map(coding.stored))
      return Self(
        name, .field(field), takesNull: columnDefault.isNull, isJSON: coding.kind == .json, fallback: value,
        unknown: unknown, decode: { $0.isNull ? nil : coding.decode($0) }, encode: coding.encode)
    }

    /// A column that may be null.
    private static func nullable<Wrapped>(
      _ name: String, _ coding: FieldCoding<Wrapped>, wireName: String?, from source: FieldSource? = nil,
      oneOf values: [Wrapped]? = nil, unknown: Wrapped? = nil
    ) -> Self where Value == Wrapped? {
      let field = FieldSchema(
        name, coding.kind, wireName: wireName, from: source, oneOf: values?.map(coding.stored),
        unknown: unknown.map(coding.stored))
      return Self(
        name, .field(field), takesNull: true, isJSON: coding.kind == .json, fallback: { nil },
        unknown: unknown.map(Optional.some),
        decode: { $0.isNull ? .some(nil) : coding.decode($0).map(Optional.some) },
        encode: { try $0.map(coding.encode) ?? .null })
    }

    /// Returns the value of the column in a row. A value that cannot be read is kept in `unread`. It is shown as the
    /// default, and logged once; where the values are listed, as the one for all others.
    /// - Throws: `StoreError.unknownField` if the row has no such column.
    public func read(_ row: Row, _ unread: inout UnreadValues) throws -> Value {
      // Nil for null, and for a column that is not there.
      let found: DatabaseValue? = row[name]
      guard found != nil || row.hasColumn(name) else {
        throw StoreError(
          .unknownField,
          "the row has no column \(Record.databaseTableName).\(name): fetch all columns, or a type made for fewer")
      }
      let stored = found ?? .null
      if let value = decode(stored) {
        if isJSON, !stored.isNull { unread.keep(json: stored, for: name) }
        return value
      }
      let value = stored.isNull ? fallback() : unknown ?? fallback()
      if stored.isNull ? !takesNull : unknown == nil {
        FallbackLog.current.note(Record.databaseTableName, name, isNull: stored.isNull)
      }
      // A column that takes no null has one only in a row that is none of the table's, as of an outer join.
      if !stored.isNull || takesNull { unread.keep(stored, shown: try encode(value), for: name) }
      return value
    }

    /// Writes the column. A value that could not be read is written back unchanged, unless the property was set to
    /// something else since.
    /// - Throws: the errors of encoding a `Codable` value.
    public func write(_ value: Value, _ unread: UnreadValues, to container: inout PersistenceContainer) throws {
      container[name] = try unread.stored(for: name, shown: try encode(value)) { stored in
        // It could be read, so it can be written.
        try decode(stored).map(encode)
      }
    }

    /// Remembers that the property was set. The value that could not be read is forgotten, unless the record still
    /// shows the same: a form that sets all properties does not change anything that way. JSON that contains more than
    /// the value shows follows the change.
    public func noteSetting(_ value: Value, in unread: inout UnreadValues) {
      guard unread.has(name) else { return }
      unread.noteSetting(name, shown: { try encode(value) }, { try decode($0).map(encode) })
    }

    /// Returns the record's name from a row.
    /// - Throws: `StoreError.invalidName`: a name has no default.
    public static func id(_ row: Row) throws -> RecordName<Record> {
      guard row.hasColumn("id"), let id = RecordName<Record>.fromDatabaseValue(row["id"]) else {
        throw StoreError(.invalidName, "the row's id is not the name of a record of type \(Record.databaseTableName)")
      }
      return id
    }
  }

  // MARK: - Which columns there are

  extension EntityColumn where Value: FieldValue {
    /// Returns a column of a type with a kind of its own.
    public static func column(
      _ name: String, default value: @autoclosure @escaping @Sendable () -> Value, isConstant: Bool,
      wireName: String? = nil
    ) -> Self {
      required(name, .plain(), value, isConstant: isConstant, wireName: wireName)
    }
  }

  extension EntityColumn where Value: FieldValue & BinaryInteger {
    /// Returns a counter, whose default is the column's own.
    public static func column(
      _ name: String, default value: @autoclosure @escaping @Sendable () -> Value, isConstant _: Bool,
      wireName: String? = nil, isCounter _: Bool
    ) -> Self {
      let field = FieldSchema(name, .counter, default: FieldCoding<Value>.plain().stored(value()), wireName: wireName)
      return Self(
        name, .field(field), takesNull: false, fallback: value,
        decode: { $0.isNull ? nil : FieldCoding<Value>.plain().decode($0) }, encode: FieldCoding<Value>.plain().encode)
    }
  }

  extension EntityColumn where Value: FieldValue & Numeric {
    /// Returns a number that keeps the greatest or the least value, whose default is the column's own.
    public static func column(
      _ name: String, default value: @autoclosure @escaping @Sendable () -> Value, isConstant _: Bool,
      wireName: String? = nil, keep extremum: Extremum
    ) -> Self {
      let coding = FieldCoding<Value>.plain()
      let field = FieldSchema(
        name, Value.fieldKind, default: coding.stored(value()), wireName: wireName, keep: extremum)
      return Self(
        name, .field(field), takesNull: false, fallback: value, decode: { $0.isNull ? nil : coding.decode($0) },
        encode: coding.encode)
    }
  }

  extension EntityColumn {
    /// Returns a number that keeps the greatest or the least value, or null.
    public static func column<Wrapped: FieldValue & Numeric>(
      _ name: String, default _: @autoclosure () -> Value = nil, isConstant _: Bool = false, wireName: String? = nil,
      keep extremum: Extremum
    ) -> Self where Value == Wrapped? {
      let coding = FieldCoding<Wrapped>.plain()
      return Self(
        name, .field(FieldSchema(name, Wrapped.fieldKind, wireName: wireName, keep: extremum)), takesNull: true,
        fallback: { nil }, decode: { $0.isNull ? .some(nil) : coding.decode($0).map(Optional.some) },
        encode: { try $0.map(coding.encode) ?? .null })
    }
  }

  extension EntityColumn where Value: RawRepresentable, Value.RawValue: FieldValue {
    /// Returns a column of raw values. A raw value that is unknown to the type is read as the default.
    public static func column(
      _ name: String, default value: @autoclosure @escaping @Sendable () -> Value, isConstant: Bool,
      wireName: String? = nil
    ) -> Self {
      required(name, .raw(), value, isConstant: isConstant, wireName: wireName)
    }
  }

  extension EntityColumn where Value: Codable {
    /// Returns a column that holds a `Codable` value as JSON text.
    @_disfavoredOverload
    public static func column(
      _ name: String, default value: @autoclosure @escaping @Sendable () -> Value, isConstant: Bool,
      wireName: String? = nil
    ) -> Self {
      required(name, .json(in: Record.self, name), value, isConstant: isConstant, wireName: wireName)
    }
  }

  extension EntityColumn {
    /// Returns a column of a type with a kind of its own, or null.
    public static func column<Wrapped: FieldValue>(
      _ name: String, default _: @autoclosure () -> Value = nil, isConstant _: Bool = false, wireName: String? = nil
    ) -> Self where Value == Wrapped? {
      nullable(name, .plain(), wireName: wireName)
    }

    /// Returns a column of raw values, or null. A raw value that is unknown to the type is read as nil.
    public static func column<Wrapped: RawRepresentable & Sendable>(
      _ name: String, default _: @autoclosure () -> Value = nil, isConstant _: Bool = false, wireName: String? = nil
    ) -> Self where Value == Wrapped?, Wrapped.RawValue: FieldValue {
      nullable(name, .raw(), wireName: wireName)
    }

    /// Returns a column of JSON, or null.
    @_disfavoredOverload
    public static func column<Wrapped: Codable & Sendable>(
      _ name: String, default _: @autoclosure () -> Value = nil, isConstant _: Bool = false, wireName: String? = nil
    ) -> Self where Value == Wrapped? {
      nullable(name, .json(in: Record.self, name), wireName: wireName)
    }

    /// Returns a column that refers to one record of another entity, or of this one.
    public static func column<Target: Entity>(
      _ name: String, default _: @autoclosure () -> Value = nil, isConstant _: Bool = false,
      onDelete: DeleteRule = .nullify, isIndexed: Bool = true
    ) -> Self where Value == RecordName<Target>? {
      // The name of the target's table, not its schema: the schemas of two entities may need each other.
      let reference = ReferenceSchema(
        name, to: Target.databaseTableName, onDelete: onDelete, isIndexed: isIndexed)
      return Self(
        name, .reference(reference), takesNull: true, fallback: { nil },
        decode: { $0.isNull ? .some(nil) : RecordName<Target>.fromDatabaseValue($0).map(Optional.some) },
        encode: { $0?.databaseValue ?? .null })
    }
  }

  extension EntityColumn where Value == AssetName? {
    /// Returns a column of the names of files that devices download as it says.
    public static func column(
      _ name: String, default _: @autoclosure () -> Value = nil, isConstant _: Bool = false, wireName: String? = nil,
      download: AssetDownload
    ) -> Self {
      Self(
        name, .field(FieldSchema(name, .asset, wireName: wireName, download: download)), takesNull: true,
        fallback: { nil }, decode: { $0.isNull ? .some(nil) : AssetName.fromDatabaseValue($0).map(Optional.some) },
        encode: { $0?.databaseValue ?? .null })
    }
  }

  extension EntityColumn where Value == ListPosition? {
    /// Returns a column of positions in the lists of the records that a reference of this entity names.
    public static func column(
      _ name: String, default _: @autoclosure () -> Value = nil, isConstant _: Bool = false, wireName: String? = nil,
      within reference: String
    ) -> Self {
      Self(
        name, .field(FieldSchema(name, .position, wireName: wireName, within: reference)), takesNull: true,
        fallback: { nil },
        decode: { $0.isNull ? .some(nil) : ListPosition.fromDatabaseValue($0).map(Optional.some) },
        encode: { $0?.databaseValue ?? .null })
    }

    /// Refuses a position without a list.
    public static func column(
      _ name: String, default _: @autoclosure () -> Value = nil, isConstant _: Bool = false, wireName _: String? = nil
    ) -> RefusedColumn<Refusal.PositionInNoList> { RefusedColumn() }
  }

  extension EntityColumn where Value == ListPosition {
    /// Refuses a position that is not optional.
    public static func column(
      _ name: String, default _: @autoclosure () -> Value, isConstant _: Bool, wireName _: String? = nil,
      within _: String = ""
    ) -> RefusedColumn<Refusal.RequiredPosition> { RefusedColumn() }
  }

  // MARK: - Which columns list their values

  extension EntityColumn where Value: RawRepresentable & CaseIterable, Value.RawValue: FieldValue {
    /// Returns a column of the raw values of all cases. Any other one is read as the case `unknown`.
    public static func column(
      _ name: String, default value: @autoclosure @escaping @Sendable () -> Value, isConstant: Bool,
      wireName: String? = nil, from source: FieldSource? = nil, unknown: Value
    ) -> Self {
      required(
        name, .raw(), value, isConstant: isConstant, wireName: wireName, from: source, oneOf: Array(Value.allCases),
        unknown: unknown)
    }
  }

  extension EntityColumn {
    /// Returns a column of the raw values of all cases, or null. Any other one is read as the case `unknown`.
    public static func column<Wrapped: RawRepresentable & CaseIterable & Sendable>(
      _ name: String, default _: @autoclosure () -> Value = nil, isConstant _: Bool = false, wireName: String? = nil,
      from source: FieldSource? = nil, unknown: Wrapped
    ) -> Self where Value == Wrapped?, Wrapped.RawValue: FieldValue {
      nullable(name, .raw(), wireName: wireName, from: source, oneOf: Array(Wrapped.allCases), unknown: unknown)
    }
  }

  // MARK: - Which columns take the place of others

  extension EntityColumn where Value: FieldValue {
    /// Returns a column of a type with a kind of its own that takes the place of an older one.
    public static func column(
      _ name: String, default value: @autoclosure @escaping @Sendable () -> Value, isConstant: Bool,
      wireName: String? = nil, from source: FieldSource
    ) -> Self {
      required(name, .plain(), value, isConstant: isConstant, wireName: wireName, from: source)
    }
  }

  extension EntityColumn where Value: RawRepresentable, Value.RawValue: FieldValue {
    /// Returns a column of raw values that takes the place of an older one.
    public static func column(
      _ name: String, default value: @autoclosure @escaping @Sendable () -> Value, isConstant: Bool,
      wireName: String? = nil, from source: FieldSource
    ) -> Self {
      required(name, .raw(), value, isConstant: isConstant, wireName: wireName, from: source)
    }
  }

  extension EntityColumn {
    /// Returns a column of a type with a kind of its own, or null, that takes the place of an older one.
    public static func column<Wrapped: FieldValue>(
      _ name: String, default _: @autoclosure () -> Value = nil, isConstant _: Bool = false, wireName: String? = nil,
      from source: FieldSource
    ) -> Self where Value == Wrapped? {
      nullable(name, .plain(), wireName: wireName, from: source)
    }

    /// Returns a column of raw values, or null, that takes the place of an older one.
    public static func column<Wrapped: RawRepresentable & Sendable>(
      _ name: String, default _: @autoclosure () -> Value = nil, isConstant _: Bool = false, wireName: String? = nil,
      from source: FieldSource
    ) -> Self where Value == Wrapped?, Wrapped.RawValue: FieldValue {
      nullable(name, .raw(), wireName: wireName, from: source)
    }
  }

  // MARK: - Which columns there are not

  // An overload that is unavailable loses against one that is available and worse, such as that for JSON. So what has
  // no column gets a `RefusedColumn`, whose property says why.

  extension EntityColumn {
    /// Refuses a reference that is not optional.
    public static func column<Target: Entity>(
      _ name: String, default _: @autoclosure () -> Value, isConstant _: Bool, wireName _: String? = nil,
      onDelete _: DeleteRule = .nullify, isIndexed _: Bool = true
    ) -> RefusedColumn<Refusal.RequiredReference> where Value == RecordName<Target> { RefusedColumn() }

    /// Refuses a reference that was renamed.
    public static func column<Target: Entity>(
      _ name: String, default _: @autoclosure () -> Value = nil, isConstant _: Bool = false, wireName _: String,
      onDelete _: DeleteRule = .nullify, isIndexed _: Bool = true
    ) -> RefusedColumn<Refusal.RenamedReference> where Value == RecordName<Target>? { RefusedColumn() }

    /// Refuses many references in one value.
    public static func column<Target: Entity>(
      _ name: String, default _: @autoclosure () -> Value, isConstant _: Bool, wireName _: String? = nil
    ) -> RefusedColumn<Refusal.References> where Value: Sequence, Value.Element == RecordName<Target> {
      RefusedColumn()
    }

    /// Refuses an optional value of many references.
    public static func column<Target: Entity, Records: Sequence>(
      _ name: String, default _: @autoclosure () -> Value = nil, isConstant _: Bool = false, wireName _: String? = nil
    ) -> RefusedColumn<Refusal.References> where Value == Records?, Records.Element == RecordName<Target> {
      RefusedColumn()
    }

    /// Refuses a whole record instead of its name.
    public static func column(
      _ name: String, default _: @autoclosure () -> Value, isConstant _: Bool, wireName _: String? = nil,
      onDelete _: DeleteRule = .nullify, isIndexed _: Bool = true
    ) -> RefusedColumn<Refusal.WholeRecord> where Value: Entity { RefusedColumn() }

    /// Refuses an optional whole record.
    public static func column<Target: Entity>(
      _ name: String, default _: @autoclosure () -> Value = nil, isConstant _: Bool = false, wireName _: String? = nil,
      onDelete _: DeleteRule = .nullify, isIndexed _: Bool = true
    ) -> RefusedColumn<Refusal.WholeRecord> where Value == Target? { RefusedColumn() }

    /// Refuses a number that is too large for SQLite.
    public static func column(
      _ name: String, default _: @autoclosure () -> Value, isConstant _: Bool, wireName _: String? = nil
    ) -> RefusedColumn<Refusal.Unsigned> where Value: UnsignedWord { RefusedColumn() }

    /// Refuses an optional number that is too large for SQLite.
    public static func column<Number: UnsignedWord>(
      _ name: String, default _: @autoclosure () -> Value = nil, isConstant _: Bool = false, wireName _: String? = nil
    ) -> RefusedColumn<Refusal.Unsigned> where Value == Number? { RefusedColumn() }

    /// Refuses a delete rule for a property that is not a reference.
    @_disfavoredOverload
    public static func column(
      _ name: String, default _: @autoclosure () -> Value? = nil, isConstant _: Bool = false, wireName _: String? = nil,
      onDelete _: DeleteRule, isIndexed _: Bool = true
    ) -> RefusedColumn<Refusal.NoReference> { RefusedColumn() }

    /// Refuses an index option for a property that is not a reference.
    @_disfavoredOverload
    public static func column(
      _ name: String, default _: @autoclosure () -> Value? = nil, isConstant _: Bool = false, wireName _: String? = nil,
      isIndexed _: Bool
    ) -> RefusedColumn<Refusal.NoReference> { RefusedColumn() }

    /// Refuses a list for a property that is not a position.
    @_disfavoredOverload
    public static func column(
      _ name: String, default _: @autoclosure () -> Value? = nil, isConstant _: Bool = false, wireName _: String? = nil,
      within _: String
    ) -> RefusedColumn<Refusal.NoPosition> { RefusedColumn() }

    /// Refuses a way of downloading for a property that is not an asset.
    @_disfavoredOverload
    public static func column(
      _ name: String, default _: @autoclosure () -> Value? = nil, isConstant _: Bool = false, wireName _: String? = nil,
      download _: AssetDownload
    ) -> RefusedColumn<Refusal.NoAsset> { RefusedColumn() }

    /// Refuses a lens for a property whose column is no text, number or Boolean value.
    @_disfavoredOverload
    public static func column(
      _ name: String, default _: @autoclosure () -> Value? = nil, isConstant _: Bool = false, wireName _: String? = nil,
      from _: FieldSource
    ) -> RefusedColumn<Refusal.NoLens> { RefusedColumn() }

    /// Unavailable: no column can hold this type.
    @_disfavoredOverload
    @available(
      *, unavailable,
      message: "No column holds this type: make it Codable to keep it as JSON, RawRepresentable, or a FieldValue"
    )
    public static func column(
      _ name: String, default _: @autoclosure () -> Value? = nil, isConstant _: Bool = false, wireName _: String? = nil
    ) -> Self { fatalError("unavailable") }
  }
#endif
