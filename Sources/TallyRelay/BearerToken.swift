/// A token that no print shows.
struct BearerToken: Sendable, CustomStringConvertible, CustomReflectable {
  let text: String

  init(_ text: String) { self.text = text }

  var description: String { "a token" }
  var customMirror: Mirror { Mirror(self, children: [:]) }
}
