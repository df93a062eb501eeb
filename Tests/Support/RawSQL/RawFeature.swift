/// What a history of raw SQL may contain. Each seed draws which features its history has, so that seeds mix them.
package enum RawFeature: String, CaseIterable, Sendable {
  // Connections
  /// Connections without Tally write to the file.
  case outside
  /// Outside connections do not enforce foreign keys.
  case unenforcedKeys
  /// Outside connections fire triggers for what REPLACE removes.
  case recursiveTriggers
  /// An outside connection reaches the file by ATTACH.
  case attached
  /// A second store on the same file.
  case secondStore

  // Statements
  /// OR REPLACE, OR IGNORE, OR FAIL, OR ABORT.
  case conflictClauses
  /// OR ROLLBACK, swallowed by the app.
  case orRollback
  /// ON CONFLICT DO UPDATE and DO NOTHING.
  case upserts
  /// New ids for old rows, chains and swaps of ids, folders that dissolve.
  case renames
  /// UPDATE OR REPLACE of ids.
  case replacingRenames
  /// DELETE without WHERE.
  case clears
  /// INSERT … SELECT of rows together with `tally_clock`.
  case copies
  /// Rows that are saved into a table, deleted, and put back with SELECT *.
  case undo
  /// Rows that are put back from an attached backup.
  case backups
  /// Nested savepoints, partly rolled back, now and then with a change of the schema.
  case savepoints
  /// Statements that fail and are swallowed.
  case failures
  /// Transactions that fail and roll back.
  case rollbacks
  /// VACUUM by an outside connection.
  case vacuum
  /// NUL, non-ASCII and empty texts.
  case oddText
  /// Values that do not fit their field: texts that are no date or no JSON, numbers in text columns.
  case refusedValues
  /// Deletes of what a reference with `.deny` names.
  case denials
  /// Clocks of rows that are overwritten together with a column.
  case clockWrites
  /// So many small transactions that the change log is pruned.
  case churn

  // The app's own objects
  /// AFTER UPDATE that writes the row it fired for.
  case ownRowTrigger
  /// The same without a guard, which answers every merge with another write.
  case loopTrigger
  /// Triggers that count children, and that touch the owner.
  case countTrigger
  /// A full-text index with external content, kept up to date by triggers.
  case fullText
  /// Triggers that keep an audit in a table of the app's.
  case audit
  /// Triggers that refuse a row with RAISE(ABORT), RAISE(IGNORE) or RAISE(FAIL).
  case validation
  /// AFTER DELETE that inserts the row again.
  case undead
  /// Unique indexes on an entity: plain, partial, expression.
  case uniqueIndex
  /// A unique index on an expression over a column of the app's own, and writes that delete rows through it.
  case quietReplace
  /// Unique indexes on a join table.
  case linkIndex
  /// Indexes on expressions that are not unique.
  case expressionIndex
  /// Tables of the app's that refer to entities, with every ON DELETE rule.
  case referringTable
  /// A temporary table named like an entity.
  case tempTable
  /// Capture triggers that somebody drops.
  case droppedTrigger
  /// A table that is rebuilt under its name, with one more constraint.
  case rebuild
  /// A table that is dropped and created again, empty.
  case recreation
  /// A column that the schema does not know.
  case addedColumn
  /// A sum that changed on the disk.
  case drift
  /// Views with INSTEAD OF triggers.
  case insteadOf

  // The store
  /// Deltas that are read, kept, and delivered late, twice, or to the wrong store.
  case parcels
  /// Live sessions while writes go on.
  case live
  /// A folder that all use as a mailbox.
  case mailbox
  /// Deleted records that come back.
  case restores
  /// Default data in versions.
  case seeds
  /// Replica ids that are given up.
  case renewals
  /// Stores that are closed, written from outside, and opened again.
  case reopening
  /// Stores that are opened with a larger schema.
  case upgrades
  /// Delete rules that change with an upgrade.
  case rules
  /// Clocks from 1970 to 2^47 milliseconds.
  case clocks

  /// How many histories of a hundred have it.
  var percent: Int {
    switch self {
    case .outside: 75
    case .unenforcedKeys, .conflictClauses, .renames, .failures: 50
    case .upserts, .oddText, .reopening, .parcels, .rollbacks, .savepoints, .restores: 40
    case .clocks, .upgrades, .recursiveTriggers, .clears, .quietReplace: 30
    case .live, .replacingRenames, .undo, .copies, .backups, .mailbox, .denials, .refusedValues, .uniqueIndex: 20
    case .ownRowTrigger, .countTrigger, .expressionIndex, .fullText, .audit, .rules: 15
    case .attached, .secondStore, .clockWrites: 15
    case .seeds, .renewals, .vacuum, .linkIndex, .insteadOf, .orRollback: 12
    case .loopTrigger, .validation, .undead, .referringTable, .tempTable: 8
    case .droppedTrigger, .rebuild, .recreation, .addedColumn, .drift: 8
    case .churn: 4
    }
  }
}
