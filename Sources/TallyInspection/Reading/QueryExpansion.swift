/// How large a query is once SQLite has put the queries that it is made of in each other's place.
///
/// SQLite does so before it runs anything, and while it does nobody can end it. For each mention of a table of WITH it
/// has a copy of that table's query: twenty tables, each of which joins the one before it with itself, are a million.
/// And for each mention of a column of an inner query it has a copy of that column's expression: three queries inside
/// each other, each of which adds up the inner one's column a hundred times, are a million as well.
/// https://sqlite.org/lang_with.html, https://sqlite.org/optoverview.html#subquery_flattening
///
/// What is counted is never less than that by much, and may be more: a name counts as the largest of those that it can
/// stand for, wherever it stands.
struct QueryExpansion {
  /// The largest that is compiled, which takes some tenths of a second.
  static let limit = 100_000
  /// The most bytes of a query that are looked at.
  static let longest = 100_000
  /// So deep may queries be inside each other, tables of WITH behind each other, and parentheses: SQLite's own limit
  /// for the latter is a hundred.
  private static let deepest = 200
  /// What a query counts for itself, beside the words in it.
  private static let queryWeight = 10

  /// What all columns of a table count for, of which there are two thousand at most.
  private static let starWeight = 2_000

  /// The query of a table of WITH.
  private struct Body {
    var places: Range<Int>
    /// The columns' names, if the table gives them.
    var columns: [String]
  }

  /// What a query comes to.
  fileprivate struct Weight {
    /// The words of the expression that stands behind each column, and of the largest, which may have no name.
    var columns: [String: Int] = [:], widest = 1
    /// All words of the query and of what is put in its place, and what each query counts for itself.
    var total = 1

    /// The words that a token is replaced by.
    func words(of token: QueryToken) -> Int {
      switch token {
      case .word(let text): columns[text] ?? 1
      // A column without a name is called as its expression reads.
      case .name(let text): columns[text] ?? widest
      case .text: 1
      case .mark: 0
      }
    }
  }

  private let tokens: [QueryToken]
  /// The place behind which each parenthesis is closed, by that where it opens.
  private var ends: [Int: Int] = [:]
  private var bodies: [String: [Body]] = [:]
  /// The parentheses that open a table of WITH.
  private var openings = Set<Int>()
  private var weights: [String: Weight] = [:]
  private var depth = 0
  private var isTooDeep = false

  init(_ sql: String) {
    tokens = QueryToken.all(of: sql)
    findEnds()
    if !isTooDeep { findBodies() }
  }

  /// About how many words the whole has; a little more than `limit` for all that is larger or deeper.
  mutating func count() -> Int {
    let total = weight(tokens.indices).total
    return isTooDeep ? Self.limit + 1 : total
  }

  private mutating func findEnds() {
    var open: [Int] = []
    for place in tokens.indices {
      if tokens[place] == .open { open.append(place) }
      if tokens[place] == .close, let start = open.popLast() { ends[start] = place }
      if open.count > Self.deepest { isTooDeep = true }
    }
    for start in open { ends[start] = tokens.count }
  }

  /// `name AS (`, also with columns after the name and MATERIALIZED before the parenthesis.
  private mutating func findBodies() {
    var lists: [Int: Int] = [:]
    for (start, end) in ends { lists[end] = start }
    for place in tokens.indices where tokens[place] == .word("as") {
      var open = place + 1
      while open < tokens.count, [.word("not"), .word("materialized")].contains(tokens[open]) { open += 1 }
      guard open < tokens.count, let end = ends[open] else { continue }
      var last = place - 1
      var columns: [String] = []
      if let list = lists[last] {
        columns = tokens[list..<last].compactMap(\.text)
        last = list - 1
      }
      guard last >= 0, let name = tokens[last].text else { continue }
      bodies[name, default: []].append(Body(places: open + 1..<end, columns: columns))
      openings.insert(open)
    }
  }

  // MARK: Weighing

  private mutating func weight(of table: String) -> Weight {
    if let known = weights[table] { return known }
    // A table that mentions itself is recursive, and is not put in its own place.
    weights[table] = Weight()
    var result = Weight()
    for body in bodies[table] ?? [] {
      let one = weight(body.places)
      result.add(one)
      for column in body.columns { result.columns[column] = max(result.columns[column] ?? 1, one.widest) }
    }
    weights[table] = result
    return result
  }

  private mutating func weight(_ places: Range<Int>) -> Weight {
    depth += 1
    defer { depth -= 1 }
    isTooDeep = isTooDeep || depth > Self.deepest
    var (inner, result) = (Weight(), Weight())
    guard !isTooDeep else { return result }
    result.total = Self.queryWeight
    var place = places.lowerBound
    while place < places.upperBound {
      let end = ends[place]
      if let end, openings.contains(place) {
        // It counts where its name stands.
        place = end
      } else if let end, isQuery(place + 1) {
        let one = weight(place + 1..<end)
        inner.add(one)
        result.grow(one.total)
        place = end
      } else if let name = tokens[place].text, bodies[name] != nil, isTable(place) {
        let one = weight(of: name)
        inner.add(one)
        result.grow(one.total)
      }
      place += 1
    }
    place = places.lowerBound
    while place < places.upperBound {
      if let end = ends[place], openings.contains(place) { place = end } else { result.grow(words(place, inner)) }
      place += 1
    }
    weighColumns(places, inner, &result)
    return result
  }

  /// A name before a point is that of a table, one before a parenthesis that of a function.
  private func words(_ place: Int, _ inner: Weight) -> Int {
    let next = place + 1 < tokens.count ? tokens[place + 1] : .comma
    return next == .dot || next == .open ? 1 : inner.words(of: tokens[place])
  }

  private func isQuery(_ place: Int) -> Bool {
    place < tokens.count && [.word("select"), .word("with"), .word("values")].contains(tokens[place])
  }

  private func isTable(_ place: Int) -> Bool {
    let next = place + 1 < tokens.count ? tokens[place + 1] : .comma
    guard place > 0, next != .dot, next != .open else { return false }
    return [.word("from"), .word("join"), .word("in"), .comma, .open].contains(tokens[place - 1])
  }

  // MARK: Columns

  private static let afterColumns: Set<String> = [
    "from", "where", "group", "having", "window", "order", "limit", "union", "intersect", "except",
  ]

  /// The columns of a query and of those that UNION and others join with it, whose columns have the names of the first.
  private func weighColumns(_ places: Range<Int>, _ inner: Weight, _ result: inout Weight) {
    var (place, start) = (places.lowerBound, Int?.none)
    func end() {
      if let first = start, first < place { weighColumn(first..<place, inner, &result) }
      start = nil
    }
    while place < places.upperBound {
      switch tokens[place] {
      case .word("select"): start = place + 1
      case .word("distinct") where start == place, .word("all") where start == place: start = place + 1
      case .comma where start != nil:
        end()
        start = place + 1
      case .word(let word) where Self.afterColumns.contains(word): end()
      default: place = ends[place] ?? place
      }
      place += 1
    }
    place = min(place, places.upperBound)
    end()
    let isJoined = places.contains { [.word("union"), .word("intersect"), .word("except")].contains(tokens[$0]) }
    if isJoined { result.columns = result.columns.mapValues { _ in result.widest } }
  }

  private func weighColumn(_ places: Range<Int>, _ inner: Weight, _ result: inout Weight) {
    if tokens[places.upperBound - 1] == .star {
      result.grow(Self.starWeight)
      return result.addColumns(inner)
    }
    var size = 0
    for place in places.dropLast(naming(places)) { size = Weight.sum(size, words(place, inner)) }
    result.widest = max(result.widest, size)
    guard let name = tokens[places.upperBound - 1].text else { return }
    result.columns[name] = max(result.columns[name] ?? 1, size)
  }

  /// Words behind which an operand stands, and no name for the column.
  private static let beforeOperand: Set<String> = [
    "and", "between", "case", "collate", "distinct", "else", "escape", "from", "glob", "in", "is", "like", "match",
    "not", "or", "regexp", "then", "when",
  ]

  /// How many of the last tokens of a column name it, and are no part of its expression.
  private func naming(_ places: Range<Int>) -> Int {
    guard places.count > 1, tokens[places.upperBound - 1].text != nil else { return 0 }
    switch tokens[places.upperBound - 2] {
    case .word("as"): return 2
    case .word(let word): return Self.beforeOperand.contains(word) ? 0 : 1
    case .name, .text, .close: return 1
    case .mark: return 0
    }
  }
}

extension QueryExpansion.Weight {
  /// Adding ends a little above the limit, so that nothing grows out of its type.
  fileprivate static func sum(_ one: Int, _ other: Int) -> Int { min(one + other, QueryExpansion.limit + 1) }

  fileprivate mutating func grow(_ words: Int) { total = Self.sum(total, words) }

  /// Another query beside this one, of whose columns the larger counts.
  fileprivate mutating func add(_ other: Self) {
    addColumns(other)
    total = max(total, other.total)
  }

  fileprivate mutating func addColumns(_ other: Self) {
    columns.merge(other.columns) { max($0, $1) }
    widest = max(widest, other.widest)
  }
}
