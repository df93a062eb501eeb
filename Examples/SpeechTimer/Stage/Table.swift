import Tally

/// The view of each person, side by side: a column for each device, a line for each speech type.
struct Table {
  private static let width = 24

  /// The table, line by line. `before` is what each device showed last, so that changes stand out.
  func lines(of group: Group, _ before: [[SpeechTypeRow]], _ terminal: Terminal) throws -> [String] {
    let views = try group.devices.map { try $0.rows() }
    let header = group.devices.map { Self.padded(" \($0.owner.rawValue) (\($0.release))") }.joined()
    let ids = DefaultSpeechTypes.keys.map(DefaultSpeechTypes.id)
    let lines = ids.filter { id in (views + before).contains { $0.contains { $0.id == id } } }.map { id in
      views.enumerated().map { index, view in
        let old = index < before.count ? before[index].first { $0.id == id } : nil
        return cell(view.first { $0.id == id }, old, terminal)
      }.joined()
    }
    return [terminal.styled(header, .dim)] + lines
  }

  /// A mark, the name, minutes and seconds, the color.
  private func cell(_ row: SpeechTypeRow?, _ old: SpeechTypeRow?, _ terminal: Terminal) -> String {
    let mark = row == old ? " " : "›"
    guard let row else { return terminal.styled(Self.padded(old == nil ? " ·" : mark + "gone"), .dim) }
    let name = Self.padded(row.name + (row.isOwn ? "*" : ""), 10)
    let seconds = row.seconds % 60
    let time = "\(row.seconds / 60):\(seconds < 10 ? "0" : "")\(seconds)"
    let gap = String(repeating: " ", count: max(0, 6 - time.count))
    let color = Terminal.Style(named: row.color).map { terminal.styled(Self.padded(row.color, 6), $0) }
    return mark + name + gap + time + " " + (color ?? Self.padded(row.color, 6))
  }

  private static func padded(_ text: String, _ width: Int = Self.width) -> String {
    text.count < width ? text + String(repeating: " ", count: width - text.count) : String(text.prefix(width))
  }
}
