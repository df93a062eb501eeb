#if Macros
  import GRDB
  import TallyStore

  /// A placeholder for the column of a property that cannot have one: using it is a compiler error that gives the
  /// reason.
  public struct RefusedColumn<Reason>: Sendable {
    /// Never called, because there is no such column to read.
    public func read<Value>(_ row: Row, _ unread: inout UnreadValues) throws -> Value { fatalError("refused") }

    /// Never called, because there is no such column to write.
    public func write<Value>(_ value: Value, _ unread: UnreadValues, to container: inout PersistenceContainer) throws {
      fatalError("refused")
    }

    /// Never called, because there is no such property to set.
    public func noteSetting<Value>(_ value: Value, in unread: inout UnreadValues) { fatalError("refused") }
  }

  /// The reasons why a property has no column.
  public enum Refusal {
    /// A reference that is not optional.
    public enum RequiredReference {}
    /// A reference with a former name.
    public enum RenamedReference {}
    /// A value that contains many references.
    public enum References {}
    /// Another record instead of its name.
    public enum WholeRecord {}
    /// A property that has a reference's attributes but is not a reference.
    public enum NoReference {}
    /// A number of more than 63 bits.
    public enum Unsigned {}
    /// A position without the list to which it belongs.
    public enum PositionInNoList {}
    /// A position that is not optional.
    public enum RequiredPosition {}
    /// A property that has the list of a position but is not a position.
    public enum NoPosition {}
    /// A property with a way of downloading that is not an asset.
    public enum NoAsset {}
    /// A property that takes the place of another field, and to which no lens leads.
    public enum NoLens {}
  }

  /// A number that may be too large for SQLite's integers. Conforming a type refuses it as a column.
  public protocol UnsignedWord: Sendable {}
  extension UInt: UnsignedWord {}
  extension UInt64: UnsignedWord {}

  extension RefusedColumn where Reason == Refusal.RequiredReference {
    /// Unavailable, so the compiler reports the reason at the property's declaration.
    @available(
      *, unavailable,
      message: "A reference must be optional: its record may be deleted, or may not have arrived yet"
    )
    public var property: EntitySchema.Property { fatalError("refused") }
  }

  extension RefusedColumn where Reason == Refusal.RenamedReference {
    /// Unavailable, so the compiler reports the reason at the property's declaration.
    @available(*, unavailable, message: "A reference cannot be renamed: remove 'renamedFrom'")
    public var property: EntitySchema.Property { fatalError("refused") }
  }

  extension RefusedColumn where Reason == Refusal.NoReference {
    /// Unavailable, so the compiler reports the reason at the property's declaration.
    @available(*, unavailable, message: "Only a reference has 'onDelete' and 'isIndexed': remove them")
    public var property: EntitySchema.Property { fatalError("refused") }
  }

  extension RefusedColumn where Reason == Refusal.References {
    /// Unavailable, so the compiler reports the reason at the property's declaration.
    @available(
      *, unavailable, message: "Make it a relationship: @Members static var name: Relationship<Record, Target>"
    )
    public var property: EntitySchema.Property { fatalError("refused") }
  }

  extension RefusedColumn where Reason == Refusal.WholeRecord {
    /// Unavailable, so the compiler reports the reason at the property's declaration.
    @available(*, unavailable, message: "A record refers to another by its name: make it RecordName<Target>?")
    public var property: EntitySchema.Property { fatalError("refused") }
  }

  extension RefusedColumn where Reason == Refusal.PositionInNoList {
    /// Unavailable, so the compiler reports the reason at the property's declaration.
    @available(
      *, unavailable,
      message: "A position is within the list of a record: name the reference, as in @Field(within: \"list\")"
    )
    public var property: EntitySchema.Property { fatalError("refused") }
  }

  extension RefusedColumn where Reason == Refusal.RequiredPosition {
    /// Unavailable, so the compiler reports the reason at the property's declaration.
    @available(
      *, unavailable, message: "A position must be optional: it may not have arrived yet, and older apps give none"
    )
    public var property: EntitySchema.Property { fatalError("refused") }
  }

  extension RefusedColumn where Reason == Refusal.NoPosition {
    /// Unavailable, so the compiler reports the reason at the property's declaration.
    @available(*, unavailable, message: "Only a position is 'within' a list: make it ListPosition?")
    public var property: EntitySchema.Property { fatalError("refused") }
  }

  extension RefusedColumn where Reason == Refusal.NoAsset {
    /// Unavailable, so the compiler reports the reason at the property's declaration.
    @available(*, unavailable, message: "Only an asset is downloaded: make it AssetName?")
    public var property: EntitySchema.Property { fatalError("refused") }
  }

  extension RefusedColumn where Reason == Refusal.NoLens {
    /// Unavailable, so the compiler reports the reason at the property's declaration.
    @available(
      *, unavailable,
      message: "Only a plain text, number or Bool takes the place of another field: remove 'from'"
    )
    public var property: EntitySchema.Property { fatalError("refused") }
  }

  extension RefusedColumn where Reason == Refusal.Unsigned {
    /// Unavailable, so the compiler reports the reason at the property's declaration.
    @available(*, unavailable, message: "SQLite's integers are signed: use Int64, or Data for more bits")
    public var property: EntitySchema.Property { fatalError("refused") }
  }
#endif
