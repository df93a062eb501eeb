/// The value of the SQL function `tally_applying()`: whether it is the store that writes, not the app.
final class Applying: @unchecked Sendable {
  // Read and written on the writing connection's queue alone.
  var isOn = true
  /// Counts the transactions of the same connection.
  let starts = TransactionStarts()
}
