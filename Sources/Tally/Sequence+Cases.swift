import GRDB

// A property of a raw-representable type is stored as its raw value, so a filter compares with that. An enum that
// conforms to GRDB's `DatabaseValueConvertible` needs none of this, and GRDB's own operators win.

/// Returns an expression that is true where a column holds a case of an enum; for nil, where it holds null.
///
/// ```swift
/// let games = Game.filter(Column("level") == Level.expert)
/// ```
@_disfavoredOverload
public func == <Case: RawRepresentable>(column: some SQLSpecificExpressible, value: Case?) -> SQLExpression
where Case.RawValue: SQLExpressible {
  column == value?.rawValue
}

/// Returns an expression that is true where a column holds anything but a case of an enum, not counting null; for nil,
/// where it holds anything at all.
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
  /// Returns an expression that is true where a column holds one of these cases of an enum.
  ///
  /// ```swift
  /// let games = Game.filter([Level.beginner, .expert].contains(Column("level")))
  /// ```
  @_disfavoredOverload
  public func contains(_ column: some SQLSpecificExpressible) -> SQLExpression {
    map(\.rawValue).contains(column)
  }
}
