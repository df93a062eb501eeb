@main struct Scorebook { static func main() throws {} }
