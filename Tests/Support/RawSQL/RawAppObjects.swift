import TallyTesting

/// What the app itself puts into the file beside its entities: statements, each in a transaction of its own.
enum RawAppObjects {
  /// What an app with these features makes on one device.
  static func statements(_ features: Set<RawFeature>, _ random: inout SplitMix64) -> [RawStatement] {
    RawFeature.allCases.filter { features.contains($0) }.flatMap { sql($0, features, &random) }.map { RawStatement($0) }
  }

  private static func sql(_ feature: RawFeature, _ features: Set<RawFeature>, _ random: inout SplitMix64)
    -> [String]
  {
    switch feature {
    case .ownRowTrigger: ownRow(&random)
    case .loopTrigger: [looping]
    case .countTrigger: counting(&random)
    case .fullText: fullText
    case .audit: audit
    case .validation: validation(&random, mayEndTriggers: !features.contains(.fullText))
    case .undead: undead
    case .uniqueIndex: unique(&random)
    case .quietReplace:
      ["ALTER TABLE P ADD COLUMN mine TEXT", "CREATE UNIQUE INDEX app_mine ON P(lower(mine)) WHERE mine IS NOT NULL"]
    case .linkIndex: ["CREATE UNIQUE INDEX app_link ON G_players(\(random.pick(["source", "target"])))"]
    case .expressionIndex: expressions(&random)
    case .referringTable:
      ["CREATE TABLE app_fav(n INTEGER PRIMARY KEY, p TEXT REFERENCES P(id) \(random.pick(deleteRules)))"]
    case .insteadOf: insteadOf
    default: []
    }
  }

  private static let deleteRules = [
    "", "ON DELETE RESTRICT", "ON DELETE SET NULL", "ON DELETE CASCADE", "DEFERRABLE INITIALLY DEFERRED",
    "ON DELETE SET NULL DEFERRABLE INITIALLY DEFERRED",
  ]

  // MARK: Triggers

  private static func ownRow(_ random: inout SplitMix64) -> [String] {
    let set = "UPDATE N SET stamp = 'by ' || coalesce(new.body, '') WHERE id = new.id; END"
    let guarded = [
      "CREATE TRIGGER app_own AFTER UPDATE OF body ON N BEGIN \(set)",
      "CREATE TRIGGER app_own AFTER UPDATE ON N WHEN new.stamp IS NOT 'by ' || coalesce(new.body, '') BEGIN \(set)",
      "CREATE TRIGGER app_own AFTER UPDATE OF body, due ON N WHEN new.stamp IS old.stamp BEGIN \(set)",
    ]
    return [random.pick(guarded)]
      + (random.chance(50) ? ["CREATE TRIGGER app_born AFTER INSERT ON N BEGIN \(set)"] : [])
  }

  static let loopName = "app_loop"
  private static let looping =
    "CREATE TRIGGER \(loopName) AFTER UPDATE ON N BEGIN UPDATE N SET edits = (edits & 65535) + 1 WHERE id = new.id; END"

  private static func counting(_ random: inout SplitMix64) -> [String] {
    let count = "BEGIN UPDATE P SET pos = (SELECT count(*) FROM G WHERE owner = P.id) WHERE id = "
    let touch = "BEGIN UPDATE P SET pos = coalesce(new.rating, 0) > 1 WHERE id = new.owner; END"
    return [
      "CREATE TRIGGER app_count_in AFTER INSERT ON G \(count)new.owner; END",
      "CREATE TRIGGER app_count_out AFTER DELETE ON G \(count)old.owner; END",
    ] + (random.chance(50) ? ["CREATE TRIGGER app_touch AFTER UPDATE OF rating ON G \(touch)"] : [])
  }

  private static let audit = [
    "CREATE TABLE app_audit(n INTEGER PRIMARY KEY, what TEXT, id TEXT, body TEXT)",
    "CREATE TRIGGER app_audit_in AFTER INSERT ON P BEGIN "
      + "INSERT INTO app_audit(what, id, body) VALUES ('in', new.id, new.name); END",
    "CREATE TRIGGER app_audit_up BEFORE UPDATE ON P BEGIN "
      + "INSERT INTO app_audit(what, id, body) VALUES ('up', new.id, old.name); END",
    "CREATE TRIGGER app_audit_out AFTER DELETE ON P BEGIN "
      + "INSERT INTO app_audit(what, id, body) VALUES ('out', old.id, old.name); END",
  ]

  private static let fullText = [
    "CREATE VIRTUAL TABLE app_text USING fts5(body, content='N', content_rowid='rowid')",
    "INSERT INTO app_text(app_text) VALUES('rebuild')",
    "CREATE TRIGGER app_text_in AFTER INSERT ON N BEGIN "
      + "INSERT INTO app_text(rowid, body) VALUES (new.rowid, new.body); END",
    "CREATE TRIGGER app_text_out AFTER DELETE ON N BEGIN "
      + "INSERT INTO app_text(app_text, rowid, body) VALUES('delete', old.rowid, old.body); END",
    "CREATE TRIGGER app_text_up AFTER UPDATE ON N BEGIN "
      + "INSERT INTO app_text(app_text, rowid, body) VALUES('delete', old.rowid, old.body); "
      + "INSERT INTO app_text(rowid, body) VALUES (new.rowid, new.body); END",
  ]

  /// What a validation refuses. After AFTER with FAIL or IGNORE the row stays: the trigger only complains.
  static let refused = "bad"

  /// Draws triggers that refuse rows. If `mayEndTriggers`, a row may stay of which triggers that come later never hear,
  /// such as those of a full-text index.
  private static func validation(_ random: inout SplitMix64, mayEndTriggers: Bool) -> [String] {
    let refusing = [
      ("BEFORE", "RAISE(ABORT, 'no')"), ("BEFORE", "RAISE(IGNORE)"), ("BEFORE", "RAISE(FAIL, 'no')"),
      ("AFTER", "RAISE(ABORT, 'no')"),
    ]
    let (time, raise) = random.pick(
      mayEndTriggers ? refusing + [("AFTER", "RAISE(IGNORE)"), ("AFTER", "RAISE(FAIL, 'no')")] : refusing)
    return ["INSERT", "UPDATE"].map {
      "CREATE TRIGGER app_no_\($0) \(time) \($0) ON N WHEN new.body = '\(refused)' BEGIN SELECT \(raise); END"
    }
  }

  /// The record that the trigger inserts again whenever it is deleted.
  static let undeadName = SampleName.name("N", 1)
  static let undeadTrigger = "app_undead"
  private static let undead = [
    "CREATE TRIGGER \(undeadTrigger) AFTER DELETE ON N WHEN old.id = '\(undeadName)' BEGIN "
      + "INSERT INTO N(id, body) VALUES (old.id, 'undead'); END"
  ]

  // MARK: Indexes and views

  private static func unique(_ random: inout SplitMix64) -> [String] {
    [
      random.pick([
        "CREATE UNIQUE INDEX app_one ON N(body)", "CREATE UNIQUE INDEX app_one ON N(lower(body))",
        "CREATE UNIQUE INDEX app_one ON N(body) WHERE done",
      ])
    ]
  }

  private static func expressions(_ random: inout SplitMix64) -> [String] {
    let all = [
      "CREATE INDEX app_p ON P(lower(name))", "CREATE INDEX app_n ON N(json_extract(meta, '$[0]'))",
      "CREATE INDEX app_f ON F(length(name)) WHERE parent IS NULL",
      "CREATE INDEX app_l ON G_players(substr(target, 5))",
    ]
    let start = random.below(all.count)
    return [all[start], all[(start + 1) % all.count]]
  }

  private static let insteadOf = [
    "CREATE VIEW app_view AS SELECT id, name FROM P",
    "CREATE TRIGGER app_view_in INSTEAD OF INSERT ON app_view BEGIN INSERT INTO P(id, name) VALUES (new.id, new.name) "
      + "ON CONFLICT(id) DO UPDATE SET name = excluded.name; END",
    "CREATE TRIGGER app_view_up INSTEAD OF UPDATE ON app_view BEGIN "
      + "UPDATE P SET name = new.name WHERE id = old.id; END",
    "CREATE TRIGGER app_view_out INSTEAD OF DELETE ON app_view BEGIN DELETE FROM P WHERE id = old.id; END",
  ]
}
