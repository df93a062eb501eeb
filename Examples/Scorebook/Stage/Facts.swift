/// Something that a device shows, in a few words.
struct Fact: Equatable {
  var label: String
  var value: String

  init(_ label: String, _ value: (some CustomStringConvertible)?) {
    self.label = label
    self.value = value.map { "\($0)" } ?? "–"
  }
}

/// A table of what each device had before they met, and what both have now.
///
/// A value in the last column has the color of the device that it came from, if it came from one.
struct BeforeAndAfter {
  private let terminal: Terminal

  init(_ terminal: Terminal) { self.terminal = terminal }

  func show(phone: [Fact], tablet: [Fact], both: [Fact]) {
    let (label, column) = (20, 23)
    let head = "\(padded("", label))  \(padded("phone had", column))  \(padded("tablet had", column))  both have"
    terminal.row(terminal.styled(head, .dim))
    for (index, fact) in both.enumerated() {
      let (left, right) = (phone[index].value, tablet[index].value)
      let outcome = colored(fact.value, isFromPhone: fact.value == left, isFromTablet: fact.value == right)
      terminal.row("\(padded(fact.label, label))  \(padded(left, column))  \(padded(right, column))  \(outcome)")
    }
  }

  private func colored(_ text: String, isFromPhone: Bool, isFromTablet: Bool) -> String {
    switch (isFromPhone, isFromTablet) {
    case (true, false): terminal.styled(text, .cyan)
    case (false, true): terminal.styled(text, .yellow)
    case (false, false): terminal.styled(text, .green)
    case (true, true): text
    }
  }
}
