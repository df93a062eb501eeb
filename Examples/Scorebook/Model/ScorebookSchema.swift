import Tally

/// All entities of the app. This one value is the database schema and the merge rules.
let scorebookSchema = Schema(
  SBPerson.self, SBGame.self, SBMatch.self, SBPlayer.self, SBScore.self, SBMatchImage.self, SBMatchLocation.self)
