import GRDB

// A property of a raw-representable type is stored as its raw value, so a filter compares with that. An enum that
// conforms to GRDB's `DatabaseValueConvertible` needs none of this, and GRDB's own operators win.

/// Whether a column holds a case of an enum, or null for nil.
///
/// ```swift
/// let games = Game.filter(Column("level") == Level.expert)
/// ```
@_disfavoredOverload
public func == <Case: RawRepresentable>(column: some SQLSpecificExpressible, value: Case?) -> SQLExpression
where Case.RawValue: SQLExpressible {
  column == value?.rawValue
}

/// Whether a column holds anything but a case of an enum, null not counted; for nil, whether it holds anything.
///
/// ```swift
/// let games = Game.filter(Column("level") != Level.expert)
/// ```
@_disfavoredOverload
public func != <Case: RawRepresentable>(column: some SQLSpecificExpressible, value: Case?) -> SQLExpression
where Case.RawValue: SQLExpressible {
  column != value?.rawValue
}

extension Sequence where Element: RawRepresentable, Element.RawValue: SQLExpressible {
  /// Whether a column holds one of these cases of an enum.
  ///
  /// ```swift
  /// let games = Game.filter([Level.beginner, .expert].contains(Column("level")))
  /// ```
  @_disfavoredOverload
  public func contains(_ column: some SQLSpecificExpressible) -> SQLExpression {
    map(\.rawValue).contains(column)
  }
}
