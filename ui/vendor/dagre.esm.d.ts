export interface PlacedNode { x: number; y: number; width: number; height: number }
export interface PlacedEdge { points: { x: number; y: number }[] }
export interface GraphLabel { rankdir?: 'LR' | 'TB'; nodesep?: number; ranksep?: number; edgesep?: number; marginx?: number; marginy?: number; width?: number; height?: number }
export class Graph {
  constructor(options?: { multigraph?: boolean; directed?: boolean });
  setGraph(label: GraphLabel): this;
  graph(): GraphLabel;
  setDefaultEdgeLabel(label: () => object): this;
  setNode(name: string, label: { width: number; height: number }): this;
  setEdge(from: string, to: string, label?: { weight?: number; minlen?: number }, name?: string): this;
  node(name: string): PlacedNode;
  edge(from: string, to: string, name?: string): PlacedEdge;
}
export function layout(graph: Graph): void;
