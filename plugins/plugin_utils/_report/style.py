# -*- coding: utf-8 -*-
# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The style sheet of every report.

PRIVATE to the collection. Colours are named once and redefined for dark screens and for paper.
"""

from __future__ import annotations

STYLE = """
:root{--bg:#f6f7f9;--surface:#fff;--line:#e3e7ec;--strong:#10171f;--text:#2b3743;--muted:#64717f;--faint:#eef1f4;
--before:#98a4b3;--before-line:#7c8a9b;--after:#1460d1;--other:#b45f06;--good:#0a7a4b;--good-bg:#e3f5ec;--bad:#b3261e;
--bad-bg:#fdeceb;--warn:#8a5200;--warn-bg:#fff4e0;--info:#1460d1;--info-bg:#e9f1fd;--shadow:0 1px 2px rgba(16,23,31,.05)}
@media (prefers-color-scheme:dark){:root{--bg:#0d1217;--surface:#151c23;--line:#27313b;--strong:#f1f5f9;--text:#cbd5df;
--muted:#8d9aa8;--faint:#1d262f;--before:#64717f;--before-line:#8793a1;--after:#5b9dff;--other:#f0a95a;--good:#5fd39b;
--good-bg:#12301f;--bad:#ff8f87;--bad-bg:#3a1715;--warn:#f3bf6b;--warn-bg:#33260d;--info:#8db9ff;--info-bg:#132540;
--shadow:none}}
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%}
body{margin:0;background:var(--bg);color:var(--text);font:15px/1.55 system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",
"DejaVu Sans",sans-serif;font-variant-numeric:tabular-nums}
main{max-width:1120px;margin:0 auto;padding:44px 28px 12px}
h1{margin:0;color:var(--strong);font-size:30px;line-height:1.2;letter-spacing:-.015em;font-weight:680;overflow-wrap:anywhere}
h2{margin:0 0 4px;color:var(--strong);font-size:18px;line-height:1.3;letter-spacing:-.005em;font-weight:650}
h3{margin:22px 0 8px;color:var(--strong);font-size:15px;font-weight:650}
p{margin:0 0 10px}
.eyebrow{margin:0 0 8px;color:var(--muted);font-size:12px;font-weight:650;letter-spacing:.09em;text-transform:uppercase}
.subtitle{margin:10px 0 0;color:var(--muted);max-width:80ch}
.badges{display:flex;flex-wrap:wrap;gap:8px;margin:16px 0 0}
.masthead{margin-bottom:26px}
.badge{display:inline-block;padding:2px 10px;border-radius:999px;border:1px solid transparent;font-size:12.5px;font-weight:600;
white-space:nowrap;background:var(--faint);color:var(--muted)}
.badge.good,.ratio.good{background:var(--good-bg);color:var(--good)}
.badge.bad,.ratio.bad{background:var(--bad-bg);color:var(--bad)}
.badge.warn,.ratio.warn{background:var(--warn-bg);color:var(--warn)}
.badge.info,.ratio.info{background:var(--info-bg);color:var(--info)}
.notice{margin:0 0 16px;padding:12px 16px;border-radius:10px;border:1px solid var(--line);border-left-width:4px;
background:var(--surface)}
.notice.bad{border-color:var(--bad);background:var(--bad-bg);color:var(--bad)}
.notice.warn{border-color:var(--warn);background:var(--warn-bg);color:var(--warn)}
.notice.info{border-left-color:var(--info)}
.notice.good{border-left-color:var(--good)}
section{margin:0 0 22px;padding:22px 24px 24px;background:var(--surface);border:1px solid var(--line);border-radius:14px;
box-shadow:var(--shadow)}
.intro{color:var(--muted);max-width:86ch;margin-bottom:16px}
.cards{display:grid;grid-template-columns:repeat(auto-fit,minmax(210px,1fr));gap:14px;margin:0 0 22px}
.card{padding:18px 20px;background:var(--surface);border:1px solid var(--line);border-radius:14px;box-shadow:var(--shadow)}
.card p{margin:0}
.card .label{color:var(--muted);font-size:13px;font-weight:600}
.card .value{margin-top:6px;color:var(--strong);font-size:29px;line-height:1.15;font-weight:680;letter-spacing:-.02em;
white-space:nowrap}
.card .change{display:flex;flex-wrap:wrap;align-items:center;gap:8px;margin-top:10px;font-size:13px;color:var(--muted)}
.ratio{padding:1px 9px;border-radius:999px;font-weight:650}
.ratio.neutral{background:var(--faint)}
.card .note{margin-top:8px;font-size:12.5px;color:var(--muted)}
.table{overflow-x:auto;margin-top:8px}
table{width:100%;border-collapse:collapse;font-size:14px}
caption{text-align:left;color:var(--muted);font-size:13px;padding:0 0 8px}
th,td{padding:8px 12px;text-align:left;vertical-align:top;border-bottom:1px solid var(--line)}
thead th{color:var(--muted);font-size:12.5px;font-weight:600;white-space:nowrap;vertical-align:bottom}
thead th.group{text-align:center;color:var(--strong);border-bottom-width:2px}
thead td{border-bottom:0}
tbody th{font-weight:600;color:var(--strong);white-space:nowrap}
.dense table{font-size:13px}
.dense th,.dense td{padding:7px 6px}
tbody tr:last-child>*{border-bottom:0}
th:first-child,td:first-child{padding-left:2px}
th:last-child,td:last-child{padding-right:2px}
.num{text-align:right;white-space:nowrap}
.muted{color:var(--muted)}
.better{color:var(--good);font-weight:650}
.worse{color:var(--bad);font-weight:650}
.same{color:var(--muted)}
code,pre{font:12.5px/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace}
code{overflow-wrap:anywhere}
pre{margin:10px 0 0;padding:14px 16px;background:var(--faint);border-radius:10px;overflow:auto;max-height:480px}
figure{margin:18px 0 0}
figure:first-of-type{margin-top:8px}
figcaption{color:var(--strong);font-weight:650;font-size:15px;margin-bottom:6px}
.unit{margin-left:10px;color:var(--muted);font-weight:400;font-size:13px}
.pair{display:grid;grid-template-columns:minmax(0,1.35fr) minmax(0,1fr);gap:28px;align-items:center}
.pair>*{min-width:0}
@media (max-width:860px){.pair{grid-template-columns:minmax(0,1fr)}}
.chart svg{display:block;width:100%;height:auto;overflow:visible}
svg text{font:12px system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans","DejaVu Sans",sans-serif;fill:var(--muted)}
svg .middle{text-anchor:middle}
svg .end{text-anchor:end}
svg .legend{fill:var(--text)}
svg .value{text-anchor:middle;fill:var(--strong);font-size:11.5px;font-weight:600;paint-order:stroke;stroke:var(--surface);
stroke-width:4px;stroke-linejoin:round}
svg .grid{stroke:var(--line);stroke-width:1}
svg .axis{stroke:var(--muted);stroke-width:1}
svg .bar.before,svg .solid.before{fill:var(--before)}
svg .bar.after,svg .solid.after{fill:var(--after)}
svg .bar.other,svg .solid.other{fill:var(--other)}
svg .line{fill:none;stroke-width:2.25;stroke-linejoin:round;stroke-linecap:round}
svg .line.before{stroke:var(--before-line)}
svg .line.after{stroke:var(--after)}
svg .line.other{stroke:var(--other)}
svg .line.dashed{stroke-dasharray:3 5;stroke-width:1.75}
svg .marker{stroke:var(--surface);stroke-width:2}
svg .marker.before{fill:var(--before-line)}
svg .marker.after{fill:var(--after)}
svg .marker.other{fill:var(--other)}
svg .marker.dashed{stroke-width:1;transform-box:fill-box;transform-origin:center;transform:scale(.7)}
dl{display:grid;grid-template-columns:minmax(150px,220px) minmax(0,1fr);gap:8px 24px;margin:12px 0 0}
dt{color:var(--strong);font-weight:600}
dd{margin:0}
@media (max-width:640px){dl{grid-template-columns:minmax(0,1fr);gap:2px}dd{margin-bottom:10px}main{padding:28px 16px 8px}
section{padding:18px 16px}}
ul{margin:8px 0 0;padding-left:20px}
li{margin-bottom:4px}
details{margin-top:10px;border:1px solid var(--line);border-radius:10px;padding:10px 14px}
summary{cursor:pointer;font-weight:600;color:var(--strong)}
footer{max-width:1120px;margin:0 auto;padding:4px 28px 48px;color:var(--muted);font-size:12.5px}
:focus-visible{outline:2px solid var(--info);outline-offset:2px}
@media print{
:root{--bg:#fff;--surface:#fff;--line:#d5dae0;--strong:#000;--text:#1c242c;--muted:#4f5a66;--faint:#f2f4f6;--before:#aab4bf;
--before-line:#7c8a9b;--after:#1460d1;--good:#0a7a4b;--good-bg:#e3f5ec;--bad:#b3261e;--bad-bg:#fdeceb;--warn:#8a5200;
--warn-bg:#fff4e0;--info:#1460d1;--info-bg:#e9f1fd;--shadow:none}
@page{margin:14mm 12mm}
*{-webkit-print-color-adjust:exact;print-color-adjust:exact}
body{font-size:10.5pt}
main,footer{max-width:none;padding:0}
section{border:0;border-top:1px solid var(--line);border-radius:0;padding:14px 0 4px;margin:0 0 8px}
.cards{grid-template-columns:repeat(4,1fr);gap:8px}
.card{padding:10px 12px;border-radius:8px;break-inside:avoid}
.card .value{font-size:19px}
.pair{grid-template-columns:minmax(0,1.2fr) minmax(0,1fr);gap:14px}
table{font-size:9.5pt}
.dense table{font-size:7.5pt}
.dense th,.dense td{padding:4px 3px}
th,td{padding:5px 8px}
h2,h3,figcaption{break-after:avoid}
figure,tr,.notice,dl>*{break-inside:avoid}
.table{overflow:visible}
details:not([open]){display:none}
}
"""
