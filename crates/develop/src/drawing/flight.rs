//! What is on its way to each node, over time (Brewer 1994, Fig 7-7).

use crate::trace::What;
use plotters::prelude::*;
use plotters::style::text_anchor::HPos;

use super::draw::{Area, COLUMNS, Failure, Panel, WIDTH, svg, words};
use super::timeline::Timeline;

/// From little to much: dark on light, in one order of brightness also for colour-blind eyes (after
/// viridis, van der Walt and Smith, 2015, from its yellow end).
const SCALE: [(u8, u8, u8); 6] =
    [(253, 231, 37), (122, 209, 81), (34, 168, 132), (42, 120, 142), (65, 68, 135), (68, 1, 84)];
/// As many steps of it are drawn, so that a picture stays small.
const SHADES: u64 = 24;
const NOTHING: RGBColor = RGBColor(245, 245, 245);

/// For each destination, how much was on its way there.
#[derive(Clone, Debug, PartialEq)]
pub struct Flight {
    /// `packets` or `bytes of puts`.
    pub unit: &'static str,
    /// For each node the times at which the amount changed, in ns, and what it was from then on.
    pub to: Vec<Vec<(u64, u64)>>,
}

impl Flight {
    /// Packets sent and not yet taken.
    #[must_use]
    pub fn packets(timeline: &Timeline) -> Self {
        Self::count(timeline, "packets", |node, what| match what {
            What::Sent { to, .. } => Some((to as usize, 1)),
            What::Taken { .. } => Some((node, -1)),
            _ => None,
        })
    }

    /// Bytes put and not yet seen to have arrived.
    #[must_use]
    pub fn puts(timeline: &Timeline) -> Self {
        Self::count(timeline, "bytes of puts", |node, what| match what {
            What::Put { to, bytes } => Some((to as usize, i128::from(bytes))),
            What::Arrived { bytes } => Some((node, -i128::from(bytes))),
            _ => None,
        })
    }

    fn count(
        timeline: &Timeline,
        unit: &'static str,
        change: impl Fn(usize, What) -> Option<(usize, i128)>,
    ) -> Self {
        let mut changes: Vec<Vec<(u64, i128)>> = vec![Vec::new(); timeline.events.len()];
        for (node, events) in timeline.events.iter().enumerate() {
            for event in events {
                if let Some((to, by)) = change(node, event.what)
                    && let Some(changes) = changes.get_mut(to)
                {
                    changes.push((event.at, by));
                }
            }
        }
        let to = changes
            .into_iter()
            .map(|mut changes| {
                // What leaves and comes at the same moment has left first.
                changes.sort_by_key(|(at, by)| (*at, -by));
                let mut now = 0i128;
                let mut levels: Vec<(u64, u64)> = Vec::new();
                for (at, by) in changes {
                    now += by;
                    // Below zero where clocks are apart: a packet is taken before it was sent.
                    let level = u64::try_from(now.max(0)).unwrap_or(u64::MAX);
                    match levels.last_mut() {
                        Some(last) if last.0 == at => last.1 = level,
                        _ => levels.push((at, level)),
                    }
                }
                levels
            })
            .collect();
        Self { unit, to }
    }

    /// The most that was ever on its way to one node.
    #[must_use]
    pub fn most(&self) -> u64 {
        self.to.iter().flatten().map(|(_, level)| *level).max().unwrap_or(0)
    }

    /// Whether anything ever was.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.to.iter().all(Vec::is_empty)
    }
}

impl Timeline {
    /// The graph of what was on its way as SVG: a row a destination, the darker the more; packets
    /// above, puts below, each only where there were any. Each pixel shows the most of its time.
    ///
    /// # Errors
    /// There was nothing on its way; or what the plotting crate says.
    pub fn flight_graph(&self) -> Result<String, String> {
        let flights: Vec<Flight> = [Flight::packets(self), Flight::puts(self)]
            .into_iter()
            .filter(|flight| !flight.is_empty())
            .collect();
        if flights.is_empty() {
            return Err("no packets and no puts were recorded: the program sends none, or only through \
                        collectives"
                .to_owned());
        }
        let mut panels = Vec::new();
        let mut top = 10;
        for _ in &flights {
            let panel = Panel::new(top + 44, self.events.len(), self.length);
            top = panel.top + panel.height();
            panels.push(panel);
        }
        svg(top as u32, |area| {
            for (flight, panel) in flights.iter().zip(&panels) {
                flight.draw(area, panel)?;
            }
            Ok(())
        })
        .map_err(|error| error.to_string())
    }
}

impl Flight {
    fn draw(&self, area: &Area<'_>, panel: &Panel) -> Result<(), Failure> {
        let most = self.most();
        let title = format!("{} on their way to each node", self.unit);
        words(area, &title, (90, panel.top - 24), 16, HPos::Left)?;
        let right = WIDTH as i32 - 50;
        for step in 0..100 {
            let x = right - 260 + 2 * step;
            let bar = [(x, panel.top - 30), (x + 2, panel.top - 18)];
            area.draw(&Rectangle::new(bar, colour(f64::from(step) / 99.0).filled()))?;
        }
        words(area, if most > 1 { "1" } else { "0" }, (right - 266, panel.top - 24), 13, HPos::Right)?;
        words(area, &most.to_string(), (right - 54, panel.top - 24), 13, HPos::Left)?;
        for (node, levels) in self.to.iter().enumerate() {
            panel.fill(area, node, 0, COLUMNS, NOTHING)?;
            let shade = |level: u64| (level - 1).saturating_mul(SHADES) / (most - 1).max(1);
            let runs = columns(levels, panel);
            for run in runs.chunk_by(|a, b| a.1 == b.0 && shade(a.2) == shade(b.2)) {
                if let [first, ..] = run
                    && let [.., last] = run
                {
                    let share = shade(first.2) as f64 / SHADES as f64;
                    panel.fill(area, node, first.0, last.1, colour(share))?;
                }
            }
        }
        panel.axes(area)
    }
}

/// The colour of a share of the most.
fn colour(share: f64) -> RGBColor {
    let at = share.clamp(0.0, 1.0) * (SCALE.len() - 1) as f64;
    let below = (at as usize).min(SCALE.len() - 2);
    let (a, b, part) = (SCALE[below], SCALE[below + 1], at - below as f64);
    let mix = |a: u8, b: u8| (f64::from(a) + part * (f64::from(b) - f64::from(a))).round() as u8;
    RGBColor(mix(a.0, b.0), mix(a.1, b.1), mix(a.2, b.2))
}

/// Runs of columns with the same most that is not zero, as first column, column after the last,
/// most.
fn columns(levels: &[(u64, u64)], panel: &Panel) -> Vec<(u32, u32, u64)> {
    let mut runs: Vec<(u32, u32, u64)> = Vec::new();
    let (mut next, mut level) = (0, 0);
    for column in 0..COLUMNS {
        let mut most = level;
        while let Some((at, now)) = levels.get(next)
            && panel.column(*at) < f64::from(column + 1)
        {
            level = *now;
            most = most.max(level);
            next += 1;
        }
        match runs.last_mut() {
            _ if most == 0 => {}
            Some(last) if last.1 == column && last.2 == most => last.1 = column + 1,
            _ => runs.push((column, column + 1, most)),
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::Event;

    #[test]
    fn each_column_shows_the_most_of_its_time() {
        let panel = Panel::new(0, 1, 10 * u64::from(COLUMNS));
        let levels = [(3, 2), (5, 7), (7, 1), (35, 0), (60, 4)];
        assert_eq!(columns(&levels, &panel), [(0, 1, 7), (1, 4, 1), (6, COLUMNS, 4)]);
        assert_eq!(columns(&[], &panel), []);
    }

    #[test]
    fn packets_are_on_their_way_from_sending_to_taking() {
        let event = |at, what| Event { at, what };
        let timeline = Timeline {
            events: vec![
                vec![event(10, What::Sent { to: 1, bytes: 8 }), event(20, What::Sent { to: 1, bytes: 8 })],
                vec![
                    event(15, What::Taken { from: 0, bytes: 8 }),
                    event(15, What::Put { to: 0, bytes: 100 }),
                    event(20, What::Taken { from: 0, bytes: 8 }),
                ],
            ],
            ..Timeline::default()
        };
        let packets = Flight::packets(&timeline);
        assert_eq!(packets.to, [vec![], vec![(10, 1), (15, 0), (20, 0)]]);
        assert_eq!(packets.most(), 1);
        assert_eq!(Flight::puts(&timeline).to, [vec![(15, 100)], vec![]]);
        assert!(Flight::puts(&Timeline::default()).is_empty());
    }
}
