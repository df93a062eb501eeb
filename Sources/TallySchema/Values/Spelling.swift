/// The names that a person may have meant with one that is not known.
package enum Spelling {
  /// Longer words are no misspelt names; comparing takes their lengths multiplied.
  private static let longest = 64
  /// So many letters may differ, and at most half of the name.
  private static let most = 2

  /// The name that a word is nearest to, capitals of ASCII aside; nil if it is far from all of them.
  package static func nearest(to word: String, among names: some Sequence<String>) -> String? {
    let letters = Array(word.lowercased())
    guard !letters.isEmpty, letters.count <= longest else { return nil }
    var best: (name: String, distance: Int)?
    for name in names where name.utf8.count <= longest {
      let other = Array(name.lowercased())
      guard abs(other.count - letters.count) <= most else { continue }
      let distance = distance(letters, other)
      guard distance <= most, distance * 2 <= max(letters.count, other.count) else { continue }
      if let best, (best.distance, best.name) <= (distance, name) { continue }
      best = (name, distance)
    }
    return best?.name
  }

  /// The end of a message about a word that is not known: `; did you mean 'sync'?`, or nothing.
  package static func hint(for word: String, among names: some Sequence<String>) -> String {
    nearest(to: word, among: names).map { "; did you mean '\($0)'?" } ?? ""
  }

  /// The number of letters to change, add, remove or swap with the next (Damerau and Levenshtein).
  private static func distance(_ a: [Character], _ b: [Character]) -> Int {
    guard !a.isEmpty, !b.isEmpty else { return max(a.count, b.count) }
    var rows = [Array(0...b.count)]
    for i in 1...a.count {
      var row = [i]
      for j in 1...b.count {
        var cost = min(rows[i - 1][j] + 1, row[j - 1] + 1, rows[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1))
        if i > 1, j > 1, a[i - 1] == b[j - 2], a[i - 2] == b[j - 1] { cost = min(cost, rows[i - 2][j - 2] + 1) }
        row.append(cost)
      }
      rows.append(row)
    }
    return rows[a.count][b.count]
  }
}

extension Schema {
  /// The end of a message about a type that the schema does not have.
  package func hint(forType type: String) -> String { Spelling.hint(for: type, among: entities.map(\.type)) }
}

extension EntitySchema {
  /// The end of a message about a column that the type does not have.
  package func hint(forField field: String) -> String { Spelling.hint(for: field, among: columnNames) }

  /// The end of a message about a relationship that the type does not have.
  package func hint(forRelationship relationship: String) -> String {
    Spelling.hint(for: relationship, among: relationships.map(\.name))
  }
}
