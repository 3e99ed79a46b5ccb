//! Pictures of several panels under one title and beside one legend: lines over linear or logarithmic axes, or bars. SVG.

use patchmg::output::file;
use patchmg_cli::chart::{COLORS, FONT, FONT_READY, bounds};
use patchmg_cli::error::{Error, Result};
use plotters::coord::Shift;
use plotters::coord::ranged1d::{AsRangedCoord, Ranged, ValueFormatter};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use std::ops::Range;
use std::path::Path;

/// A picture.
#[derive(Clone, Debug)]
pub struct Panels {
    pub title: String,
    /// At most two side by side.
    pub panels: Vec<Panel>,
}

/// One pair of axes.
#[derive(Clone, Debug)]
pub struct Panel {
    pub title: String,
    /// Name and unit.
    pub x_label: String,
    /// Name and unit.
    pub y_label: String,
    pub marks: Marks,
}

/// What is drawn.
#[derive(Clone, Debug)]
pub enum Marks {
    Lines {
        series: Vec<Line>,
        log_x: bool,
        log_y: bool,
    },
    /// Bars from 0; those of a category side by side, or on top of each other.
    Bars {
        categories: Vec<String>,
        series: Vec<Bars>,
        stacked: bool,
    },
}

/// Points, `x` ascending; what an axis cannot show is left out.
#[derive(Clone, Debug)]
pub struct Line {
    /// Name in the legend; the same name has the same color in all panels.
    pub label: String,
    pub points: Vec<(f64, f64)>,
    pub style: LineStyle,
}

/// How a line is told from others of its color.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineStyle {
    /// A line with filled markers.
    Marked,
    /// Open markers alone: values of others.
    Open,
    /// A gray line without markers: a limit.
    Limit,
    /// A dashed gray line: what is aimed at.
    Goal,
}

/// A height for each category, none where there is no value.
#[derive(Clone, Debug)]
pub struct Bars {
    pub label: String,
    pub heights: Vec<Option<f64>>,
}

const PANEL: (u32, u32) = (470, 400);
const LEGEND: u32 = 300;
const TITLE: u32 = 44;
const GRAY: RGBColor = RGBColor(110, 110, 110);

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Drawn<'a> = std::result::Result<(), DrawingAreaErrorKind<<SVGBackend<'a> as DrawingBackend>::ErrorType>>;

impl Panels {
    /// Draws an SVG into `path`.
    ///
    /// # Errors
    /// [`Error::Output`] if it cannot be drawn, [`Library::Write`](patchmg_cli::error::Library::Write) if the file cannot be written.
    pub fn write(&self, path: &Path) -> Result<()> {
        let output = |reason: String| Error::Output { path: path.to_owned(), reason };
        if !*FONT_READY {
            return Err(output("the font for its labels cannot be read".into()));
        }
        let columns = self.panels.len().clamp(1, 2) as u32;
        let rows = (self.panels.len() as u32).div_ceil(columns).max(1);
        let size = (columns * PANEL.0 + LEGEND, rows * PANEL.1 + TITLE);
        let mut text = String::new();
        let root = SVGBackend::with_string(&mut text, size).into_drawing_area();
        self.draw(&root, (rows as usize, columns as usize)).map_err(|e| output(e.to_string()))?;
        root.present().map_err(|e| output(e.to_string()))?;
        drop(root);
        Ok(file::write(path, text.as_bytes())?)
    }

    fn draw<'a>(&self, root: &Area<'a>, grid: (usize, usize)) -> Drawn<'a> {
        root.fill(&WHITE)?;
        let (title, below) = root.split_vertically(TITLE);
        title.draw(&Text::new(&*self.title, (16, 14), text(22)))?;
        let (panels, legend) = below.split_horizontally(grid.1 as u32 * PANEL.0);
        let labels = self.labels();
        for (panel, area) in self.panels.iter().zip(panels.split_evenly(grid)) {
            panel.draw(&area, &labels)?;
        }
        for (index, (label, style)) in labels.iter().enumerate() {
            let y = 40 + 24 * index as i32;
            let color = color(&labels, label);
            match style {
                Some(LineStyle::Marked) => {
                    legend.draw(&PathElement::new([(6, y), (30, y)], color.stroke_width(2)))?;
                    legend.draw(&Circle::new((18, y), 4, color.filled()))?;
                }
                Some(LineStyle::Open) => legend.draw(&Circle::new((18, y), 6, color.stroke_width(2)))?,
                Some(LineStyle::Goal) => {
                    for left in [6, 19] {
                        legend.draw(&PathElement::new([(left, y), (left + 9, y)], GRAY.stroke_width(2)))?;
                    }
                }
                Some(LineStyle::Limit) => {
                    legend.draw(&PathElement::new([(6, y), (30, y)], GRAY.stroke_width(2)))?;
                }
                None => legend.draw(&Rectangle::new([(8, y - 7), (28, y + 7)], color.filled()))?,
            }
            legend.draw(&Text::new(&**label, (38, y - 8), text(15)))?;
        }
        Ok(())
    }

    /// Names of the legend in the order in which they appear, bars without a style of line.
    fn labels(&self) -> Vec<(String, Option<LineStyle>)> {
        let mut labels: Vec<(String, Option<LineStyle>)> = Vec::new();
        let mut add = |label: &String, style| {
            if !label.is_empty() && !labels.iter().any(|(known, _)| known == label) {
                labels.push((label.clone(), style));
            }
        };
        for panel in &self.panels {
            match &panel.marks {
                Marks::Lines { series, .. } => series.iter().for_each(|line| add(&line.label, Some(line.style))),
                Marks::Bars { series, .. } => series.iter().for_each(|bars| add(&bars.label, None)),
            }
        }
        labels
    }
}

fn text(size: i32) -> FontDesc<'static> {
    (FONT, size).into_font()
}

/// By place in the legend.
fn color(labels: &[(String, Option<LineStyle>)], label: &str) -> RGBColor {
    let place = labels.iter().position(|(known, _)| known == label).unwrap_or(0);
    COLORS[place % COLORS.len()]
}

impl Panel {
    fn draw<'a>(&self, area: &Area<'a>, labels: &[(String, Option<LineStyle>)]) -> Drawn<'a> {
        let (x, y) = (self.range_x(), self.range_y());
        match &self.marks {
            Marks::Lines { log_x: false, log_y: false, .. } => self.draw_on(area, x, y, labels),
            Marks::Lines { log_x: false, .. } => self.draw_on(area, x, y.log_scale(), labels),
            Marks::Lines { log_y: false, .. } => self.draw_on(area, x.log_scale(), y, labels),
            Marks::Lines { .. } => self.draw_on(area, x.log_scale(), y.log_scale(), labels),
            Marks::Bars { .. } => self.draw_on(area, x, y, labels),
        }
    }

    fn draw_on<'a, X, Y>(&self, area: &Area<'a>, x: X, y: Y, labels: &[(String, Option<LineStyle>)]) -> Drawn<'a>
    where
        X: AsRangedCoord<Value = f64>,
        X::CoordDescType: Ranged<ValueType = f64> + ValueFormatter<f64>,
        Y: AsRangedCoord<Value = f64>,
        Y::CoordDescType: Ranged<ValueType = f64> + ValueFormatter<f64>,
    {
        let mut chart = ChartBuilder::on(area)
            .caption(&self.title, text(17))
            .margin(12)
            .x_label_area_size(self.x_label_height())
            .y_label_area_size(70)
            .build_cartesian_2d(x, y)?;
        chart
            .configure_mesh()
            .x_desc(&self.x_label)
            .y_desc(&self.y_label)
            .x_labels(self.x_label_count())
            .y_labels(8)
            .x_label_formatter(&|x| self.x_text(*x))
            .y_label_formatter(&|y| number(*y))
            .axis_desc_style(text(15))
            .label_style(text(13))
            .light_line_style(TRANSPARENT)
            .bold_line_style(RGBColor(228, 228, 228))
            .draw()?;
        match &self.marks {
            Marks::Lines { series, .. } => {
                for line in series {
                    let color = color(labels, &line.label);
                    let points: Vec<_> = line.points.iter().copied().filter(|&point| self.shows(point)).collect();
                    match line.style {
                        LineStyle::Marked => {
                            chart.draw_series(LineSeries::new(points.iter().copied(), color.stroke_width(2)))?;
                            chart.draw_series(points.iter().map(|&point| Circle::new(point, 4, color.filled())))?;
                        }
                        LineStyle::Open => {
                            chart.draw_series(
                                points.iter().map(|&point| Circle::new(point, 7, color.stroke_width(2))),
                            )?;
                        }
                        LineStyle::Goal => {
                            let line = DashedLineSeries::new(points.iter().copied(), 8, 5, GRAY.stroke_width(2));
                            chart.draw_series(line)?;
                        }
                        LineStyle::Limit => {
                            chart.draw_series(LineSeries::new(points.iter().copied(), GRAY.stroke_width(2)))?;
                        }
                    }
                }
            }
            Marks::Bars { categories, series, stacked } => {
                let (left, top) = area.get_base_pixel();
                let style = text(13).into_text_style(area).pos(Pos::new(HPos::Center, VPos::Top));
                for (category, name) in categories.iter().enumerate() {
                    let (x, y) = chart.backend_coord(&(category as f64, 0.0));
                    for (line, words) in lines_of(name).into_iter().enumerate() {
                        area.draw_text(&words, &style, (x - left, y - top + 8 + LINE * line as i32))?;
                    }
                }
                for category in 0..categories.len() {
                    let width = if *stacked { 0.7 } else { 0.8 / series.len().max(1) as f64 };
                    let mut low = 0.0;
                    for (place, bars) in series.iter().enumerate() {
                        let Some(height) = bars.heights.get(category).copied().flatten() else { continue };
                        let left = category as f64 + if *stacked { -0.35 } else { place as f64 * width - 0.4 };
                        let color = color(labels, &bars.label);
                        chart.draw_series([Rectangle::new(
                            [(left, low), (left + width, low + height)],
                            color.filled(),
                        )])?;
                        if *stacked {
                            low += height;
                        }
                    }
                }
            }
        }
        Ok(())
    }

    fn shows(&self, (x, y): (f64, f64)) -> bool {
        let Marks::Lines { log_x, log_y, .. } = self.marks else { return true };
        x.is_finite() && y.is_finite() && (!log_x || x > 0.0) && (!log_y || y > 0.0)
    }

    fn points(&self) -> impl Iterator<Item = (f64, f64)> {
        let lines: &[Line] = if let Marks::Lines { series, .. } = &self.marks { series } else { &[] };
        lines.iter().flat_map(|line| &line.points).copied().filter(|&point| self.shows(point))
    }

    fn range_x(&self) -> Range<f64> {
        match &self.marks {
            Marks::Bars { categories, .. } => -0.6..categories.len() as f64 - 0.4,
            Marks::Lines { log_x, .. } => {
                let (low, high) = bounds(self.points().map(|(x, _)| x)).unwrap_or((1.0, 10.0));
                if *log_x { low / 1.3..high * 1.3 } else { low - 0.3..high.max(low + 1.0) + 0.3 }
            }
        }
    }

    fn range_y(&self) -> Range<f64> {
        match &self.marks {
            Marks::Bars { categories, series, stacked } => {
                let heights = |category: usize| {
                    series.iter().filter_map(move |bars| bars.heights.get(category).copied().flatten())
                };
                let top = |category| {
                    if *stacked { heights(category).sum() } else { heights(category).fold(0.0, f64::max) }
                };
                let high = (0..categories.len()).map(top).fold(0.0, f64::max);
                0.0..if high > 0.0 { 1.06 * high } else { 1.0 }
            }
            Marks::Lines { log_y, .. } => {
                let (low, high) = bounds(self.points().map(|(_, y)| y)).unwrap_or((0.1, 1.0));
                // Whole decades, so that the axis begins and ends at a label; or from 0.
                if *log_y {
                    10f64.powf((low / 1.1).log10().floor())..10f64.powf((high * 1.1).log10().ceil())
                } else {
                    0.0..1.08 * high.max(f64::MIN_POSITIVE)
                }
            }
        }
    }

    fn x_label_count(&self) -> usize {
        match &self.marks {
            Marks::Bars { categories, .. } => 2 * categories.len() + 1,
            Marks::Lines { log_x: true, .. } => 6,
            Marks::Lines { .. } => {
                let Range { start, end } = self.range_x();
                ((end - start) as usize + 1).min(12)
            }
        }
    }

    /// Numbers where they are whole, or on a logarithmic axis; [categories](Marks::Bars) have names instead.
    fn x_text(&self, x: f64) -> String {
        match &self.marks {
            Marks::Bars { .. } => String::new(),
            Marks::Lines { log_x: true, .. } => number(x),
            Marks::Lines { .. } if (x - x.round()).abs() < 1e-9 => format!("{x:.0}"),
            Marks::Lines { .. } => String::new(),
        }
    }

    /// Room below the axis for its name and its labels.
    fn x_label_height(&self) -> i32 {
        let Marks::Bars { categories, .. } = &self.marks else { return 46 };
        let lines = categories.iter().map(|name| lines_of(name).len()).max().unwrap_or(1);
        46 + LINE * (lines as i32 - 1)
    }
}

/// Distance of two lines of a name.
const LINE: i32 = 15;

/// A name in lines of as many whole words as 16 letters have room for.
fn lines_of(name: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in name.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= 16 => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.into()),
        }
    }
    lines
}

/// Short, and exact for what labels show.
fn number(value: f64) -> String {
    match value.abs() {
        0.0 => String::from("0"),
        size if (1e-3..1e5).contains(&size) => format!("{}", (value * 1e6).round() / 1e6),
        // To three digits: steps of an axis are sums, and not exact.
        _ => {
            let text = format!("{value:.2e}");
            let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
            format!("{}e{exponent}", mantissa.trim_end_matches('0').trim_end_matches('.'))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn panel(marks: Marks) -> Panel {
        Panel { title: "3D".into(), x_label: "degree".into(), y_label: "time [ms]".into(), marks }
    }

    fn lines(log_x: bool, log_y: bool) -> Panel {
        let line =
            |label: &str, style| Line { label: label.into(), points: vec![(1.0, 2.0), (2.0, 0.0), (3.0, 8.0)], style };
        let series = vec![
            line("fused", LineStyle::Marked),
            line("A100", LineStyle::Open),
            line("roof", LineStyle::Limit),
            line("aim", LineStyle::Goal),
        ];
        panel(Marks::Lines { series, log_x, log_y })
    }

    fn svg(panels: Vec<Panel>) -> String {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("panels.svg");
        Panels { title: "Figure 0".into(), panels }.write(&path).unwrap();
        std::fs::read_to_string(path).unwrap()
    }

    #[test]
    fn lines_are_drawn_where_their_axes_show_them() {
        for (log_x, log_y, points) in [(false, false, 3), (true, false, 3), (false, true, 2), (true, true, 2)] {
            let svg = svg(vec![lines(log_x, log_y)]);
            for text in ["Figure 0", "3D", "degree", "time [ms]", "fused", "A100", "roof", "aim"] {
                assert!(svg.contains(text), "{text}");
            }
            // Two lines have markers, and each has one in the legend.
            assert_eq!(svg.matches("<circle").count(), 2 * points + 2, "{log_x} {log_y}");
        }
    }

    #[test]
    fn bars_have_the_names_of_their_categories() {
        let bars = |label: &str| Bars { label: label.into(), heights: vec![Some(1.0), None, Some(3.0)] };
        let categories = ["Q1", "Q2", "kept, by expressions that are long"].map(String::from).to_vec();
        for stacked in [false, true] {
            let marks =
                Marks::Bars { categories: categories.clone(), series: vec![bars("smooth"), bars("rest")], stacked };
            let svg = svg(vec![panel(marks.clone()), panel(marks)]);
            for text in ["Q1", "Q2", "kept, by", "expressions that", "are long", "smooth", "rest"] {
                assert!(svg.lines().any(|line| line.trim() == text), "{text}");
            }
        }
    }

    #[test]
    fn nothing_to_show_is_an_empty_picture() {
        svg(Vec::new());
        svg(vec![panel(Marks::Lines { series: Vec::new(), log_x: true, log_y: true })]);
        svg(vec![panel(Marks::Bars { categories: Vec::new(), series: Vec::new(), stacked: true })]);
    }

    #[test]
    fn labels_are_short() {
        assert_eq!([0.0, 0.1, 2.5, 12000.0, 1e9].map(number), ["0", "0.1", "2.5", "12000", "1e9"]);
        assert_eq!([6.000000000000001e-4, 2.5e6].map(number), ["6e-4", "2.5e6"]);
    }
}
